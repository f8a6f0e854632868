/** The stories' way to run a command, against a palette that closes under what is typed. */
import { expect, it } from "vitest";
// @ts-expect-error The stories are plain JavaScript.
import { command } from "../e2e/editor.mjs";

/** What the palette does the next time that it is opened. */
type Opening = "stays" | "closes at once" | "closes under the words" | "loses the words" | "has no such command";

/** A page with the palette alone; each wait ends at once, since nothing moves by itself. */
function pageOf(...openings: Opening[]) {
  const done: string[] = [];
  let now: Opening = "stays";
  let open = false;
  let value = "";
  const refuse = (what: string) => Promise.reject(new Error(what));
  const closed = () => (open ? refuse("it stays open") : Promise.resolve());
  const visible = () => (open ? Promise.resolve() : refuse("it is closed"));
  const locators: Record<string, object> = {
    ".quick-input-widget": {
      waitFor: ({ state }: { state: string }) => (state === "hidden" ? closed() : visible()),
    },
    ".quick-input-widget input": {
      waitFor: visible,
      fill: async (text: string) => {
        await visible();
        value = now === "loses the words" ? ">" : text;
        if (now === "closes under the words") open = false;
      },
      inputValue: () => Promise.resolve(value),
    },
    ".quick-input-list .monaco-list-row": {
      first: () => ({
        waitFor: () => (now === "has no such command" ? refuse("there is no row") : visible()),
        click: async () => void done.push(`click ${value}`),
      }),
    },
  };
  const page = {
    keyboard: {
      press: async (key: string) => {
        done.push(key);
        if (key === "Escape") open = false;
        if (key !== "F1") return;
        now = openings.shift() ?? "stays";
        open = now !== "closes at once";
      },
    },
    locator: (selector: string) => locators[selector],
  };
  return { page, done };
}

it("a command is typed and clicked", async () => {
  const { page, done } = pageOf();
  await command(page, "New Session");
  expect(done).toEqual(["F1", "click >New Session"]);
});

it.each<Opening>(["closes at once", "closes under the words", "loses the words"])(
  "where the palette %s it is opened again, and the command runs once",
  async (opening) => {
    const { page, done } = pageOf(opening);
    await command(page, "New Session");
    expect(done).toEqual(["F1", "Escape", "F1", "click >New Session"]);
  },
);

it("a command that is not there is said after three tries", async () => {
  const { page, done } = pageOf("has no such command", "has no such command", "has no such command");
  await expect(command(page, "Nothing")).rejects.toThrow("there is no row");
  expect(done).toEqual(["F1", "Escape", "F1", "Escape", "F1"]);
});
