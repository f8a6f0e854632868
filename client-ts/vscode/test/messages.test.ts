/** What people read: every sentence is in the table of German, and none stands in a page untold of. */
import { readdirSync, readFileSync } from "node:fs";
import ts from "typescript";
import { expect, it } from "vitest";

const german: Readonly<Record<string, string>> = JSON.parse(readFileSync("l10n/bundle.l10n.de.json", "utf8"));
const files = readdirSync("src", { recursive: true, encoding: "utf8" })
  .filter((file) => /\.tsx?$/.test(file))
  .map((file) => file.replaceAll("\\", "/"))
  .sort();

function parsed(file: string, text = readFileSync(`src/${file}`, "utf8")): ts.SourceFile {
  return ts.createSourceFile(file, text, ts.ScriptTarget.Latest, true, file.endsWith("x") ? ts.ScriptKind.TSX : ts.ScriptKind.TS);
}
function each(node: ts.Node, visit: (node: ts.Node) => void): void {
  visit(node);
  ts.forEachChild(node, (child) => each(child, visit));
}

/** What is said in this file, and what is said in a way that no table can know. */
function saidIn(source: ts.SourceFile): { keys: string[]; unknown: string[] } {
  const keys: string[] = [];
  const unknown: string[] = [];
  each(source, (node) => {
    if (!ts.isCallExpression(node)) return;
    const called = node.expression.getText();
    const [first, second] = node.arguments;
    if (!["t", "tOf", "l10n.t", "vscode.l10n.t"].includes(called) || first === undefined) return;
    if (!ts.isStringLiteral(first)) unknown.push(first.getText());
    else if (called === "tOf" && second !== undefined && ts.isStringLiteral(second)) keys.push(`${first.text}/${second.text}`);
    else keys.push(first.text);
  });
  return { keys, unknown };
}

/** Attributes that people read or hear. */
const READ = new Set(["title", "aria-label", "aria-description", "placeholder", "label", "alt"]);
/** Names and signs, which are the same everywhere. */
const SAME = /^[^\p{L}]*$|^https?:\/\//u;

/** Words in a component that were written as they are. */
function literalsIn(source: ts.SourceFile): string[] {
  const found: string[] = [];
  const spoken = (one: ts.Node | undefined): void => {
    if (one === undefined) return;
    if (ts.isStringLiteral(one) || ts.isNoSubstitutionTemplateLiteral(one)) {
      if (!SAME.test(one.text)) found.push(one.text);
    } else if (ts.isTemplateExpression(one)) {
      const words = [one.head.text, ...one.templateSpans.map(({ literal }) => literal.text)].join("");
      if (!SAME.test(words)) found.push(one.getText());
      for (const { expression } of one.templateSpans) spoken(expression);
    } else if (ts.isJsxExpression(one) || ts.isParenthesizedExpression(one)) spoken(one.expression);
    else if (ts.isConditionalExpression(one)) {
      spoken(one.whenTrue);
      spoken(one.whenFalse);
    } else if (ts.isBinaryExpression(one)) {
      if (one.operatorToken.kind !== ts.SyntaxKind.AmpersandAmpersandToken && !/[=<>]/.test(one.operatorToken.getText())) spoken(one.left);
      if (!/[=<>]/.test(one.operatorToken.getText())) spoken(one.right);
    }
  };
  each(source, (node) => {
    if (ts.isJsxText(node) && !SAME.test(node.text.replace(/&\w+;/g, ""))) found.push(node.text.trim());
    const { parent } = node;
    if (ts.isJsxAttribute(node) && READ.has(node.name.getText())) spoken(node.initializer);
    // What stands between the tags.
    if (ts.isJsxExpression(node) && (ts.isJsxElement(parent) || ts.isJsxFragment(parent))) spoken(node);
  });
  return found;
}

/** Sentences in the rest of the pages: several words that are in no call of the table. */
function sentencesIn(source: ts.SourceFile): string[] {
  const found: string[] = [];
  const look = (node: ts.Node): void => {
    if (ts.isImportDeclaration(node) || ts.isTypeNode(node)) return;
    if (ts.isCallExpression(node) && /^(?:t|tOf|(?:.*\.)?(?:querySelector(?:All)?|closest|violation|warn))$/.test(node.expression.getText())) {
      node.arguments.filter((argument) => !ts.isStringLiteral(argument) && !ts.isTemplateExpression(argument)).forEach(look);
      return;
    }
    if (ts.isJsxAttribute(node) && /^(?:class|id|key|data-.*)$/.test(node.name.getText())) return;
    // A beginning with a capital, a blank and an end.
    if (ts.isStringLiteral(node) && !(ts.isPropertyAssignment(node.parent) && node.parent.name === node) && /^\p{Lu}\p{Ll}+ .*\p{L}/u.test(node.text)) found.push(node.text);
    ts.forEachChild(node, look);
  };
  look(source);
  return found;
}

it("everything that is said has its German, and nothing in the table is said nowhere", () => {
  const said = new Set<string>();
  for (const file of files) {
    const { keys, unknown } = saidIn(parsed(file));
    expect(unknown, `${file}: a sentence must stand where it is said`).toEqual([]);
    for (const key of keys) said.add(key);
  }
  expect(said.size).toBeGreaterThan(700);
  expect([...said].filter((key) => german[key] === undefined), "has no German").toEqual([]);
  expect(Object.keys(german).filter((key) => !said.has(key)), "is said nowhere").toEqual([]);
});

it("the German of each has the same values in it, the same blanks at its ends, and is not empty", () => {
  const values = (text: string) => [...text.matchAll(/\{\d\}|\$\([a-z-]+\)/g)].map(([one]) => one).sort();
  const ends = (text: string) => [/^\s*/.exec(text)?.[0], /\s*$/.exec(text)?.[0]];
  for (const [key, text] of Object.entries(german)) {
    const english = key.replace(/\/the pane$/, "");
    expect([values(text), ends(text), text.trim() !== ""], key).toEqual([values(english), ends(english), true]);
  }
});

it("no component has words of its own, and no other file of the pages a sentence", () => {
  for (const file of files.filter((one) => one.startsWith("webview/"))) {
    expect(literalsIn(parsed(file)), file).toEqual([]);
    if (!/code_colours|messages\.ts|model\/context\.ts/.test(file)) expect(sentencesIn(parsed(file)), file).toEqual([]);
  }
});

it("the check itself sees what is missing", () => {
  const of = (text: string) => parsed("x.tsx", text);
  expect(literalsIn(of('const x = <p title="Open it">Words <b aria-label={on ? "Yes" : t("No")}>{t("fine")}</b> · </p>;'))).toEqual(["Open it", "Words", "Yes"]);
  expect(sentencesIn(of('say("It is done."); say(t("It is well.")); const a = "one-two";'))).toEqual(["It is done."]);
  expect(saidIn(of("t(message); l10n.t(`x`); t(\"a\"); tOf(\"b\", \"c\");"))).toEqual({ keys: ["a", "b/c"], unknown: ["message", "`x`"] });
});
