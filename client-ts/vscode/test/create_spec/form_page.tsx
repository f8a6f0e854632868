/** The form as a browser has it, with a host that the story plays and a clock that it turns. */
import { options, render } from "preact";
import { SpecForm } from "../../src/webview/create_spec/form";
import { CreateSpec } from "../../src/webview/create_spec/view";
import { drawOncePerFrame } from "../../src/webview/frame";

export const image = (name: string) => ({
  id: `id-${name}`,
  uri: `file:///pictures/${name}`,
  name,
  dataUrl: "data:image/png;base64,AA==",
});

export async function openForm(
  story: { saved?: unknown; draft?: string; focus?: boolean; init?: boolean } = {},
) {
  const sent: any[] = [];
  const states: any[] = [];
  const violations: string[] = [];
  const painting: (() => void)[] = [];
  const timers = new Set<{ at: number; then: () => void }>();
  let now = 0;
  options.requestAnimationFrame = (after) => void setTimeout(after);
  drawOncePerFrame((draw) => void painting.push(draw));
  const form = new SpecForm(
    {
      post: (message) => void sent.push(message),
      setState: (state) => void states.push(structuredClone(state)),
      later: (ms, then) => {
        const timer = { at: now + ms, then };
        timers.add(timer);
        return () => void timers.delete(timer);
      },
      violation: (sentence) => void violations.push(sentence),
    },
    story.saved,
  );
  const root = document.createElement("div");
  document.body.replaceChildren(root);
  render(<CreateSpec form={form} />, root);
  const paint = async (): Promise<void> => {
    for (let still = 0; still < 3; ) {
      await new Promise((resolve) => setTimeout(resolve));
      const draws = painting.splice(0);
      still = draws.length === 0 ? still + 1 : 0;
      for (const draw of draws) draw();
    }
  };
  const all = (selector: string, text = ""): HTMLElement[] =>
    [...root.querySelectorAll<HTMLElement>(selector)].filter((element) => element.textContent?.includes(text));
  const one = (selector: string, text = ""): HTMLElement => {
    const found = all(selector, text);
    if (found.length !== 1) throw new Error(`${found.length} elements fit ${selector} ${text} in:\n${root.innerHTML}`);
    return found[0] as HTMLElement;
  };
  const page = {
    form,
    root,
    sent,
    states,
    violations,
    all,
    one,
    paint,
    area: () => one("textarea") as HTMLTextAreaElement,
    button: (kind: string) => one(`button.${kind}`) as HTMLButtonElement,
    /** Messages of one type, by the word after the slash. */
    said: (word: string) => sent.filter(({ type }) => type === `create-spec/${word}`),
    async hear(word: string, payload?: unknown): Promise<void> {
      form.hear({ type: `create-spec/${word}`, ...(payload === undefined ? {} : { payload }) });
      await paint();
    },
    async type(text: string): Promise<void> {
      page.area().value = text;
      page.area().dispatchEvent(new Event("input", { bubbles: true }));
      await paint();
    },
    async click(selector: string, text = ""): Promise<void> {
      one(selector, text).click();
      await paint();
    },
    async key(key: string, more: KeyboardEventInit = {}): Promise<void> {
      const on = root.contains(document.activeElement) ? document.activeElement : page.area();
      on?.dispatchEvent(new KeyboardEvent("keydown", { key, bubbles: true, cancelable: true, ...more }));
      await paint();
    },
    async pass(ms: number): Promise<void> {
      now += ms;
      for (const timer of [...timers])
        if (timer.at <= now) {
          timers.delete(timer);
          timer.then();
        }
      await paint();
    },
    /** What is said in a live region. */
    alert: () => one("[role=alert]").textContent?.replace("Dismiss", "").trim(),
    status: () => all("[role=status]").map((region) => region.textContent?.replace("Dismiss", "").trim()),
  };
  form.mount();
  if (story.init !== false) {
    const draft = story.draft === undefined ? {} : { draft: { formData: { description: story.draft }, lastUpdated: 1 } };
    await page.hear("init", { ...draft, shouldFocusPrimaryField: story.focus ?? true });
  }
  await paint();
  return page;
}
