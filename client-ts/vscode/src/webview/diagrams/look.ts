/**
 * The colours and the font of a diagram: the editor's.
 *
 * Owns which of the editor's colours stands for what. They are read as the browser resolved them, since who draws knows no
 * variables.
 */

/** What a diagram is drawn with; two that are equal give the same picture. */
export interface Look {
  readonly dark: boolean;
  readonly font: string;
  readonly ground: string;
  readonly text: string;
  readonly line: string;
  readonly box: string;
  readonly border: string;
  readonly group: string;
  readonly note: string;
}

const COLOURS = {
  ground: ["--vscode-sideBar-background", "--vscode-editor-background"],
  text: ["--vscode-foreground", "--vscode-editor-foreground"],
  line: ["--vscode-descriptionForeground", "--vscode-foreground"],
  box: ["--vscode-editorWidget-background", "--vscode-editor-background"],
  border: ["--vscode-contrastBorder", "--vscode-focusBorder", "--vscode-foreground"],
  group: ["--vscode-textCodeBlock-background", "--vscode-editor-background"],
  note: ["--vscode-inputValidation-infoBackground", "--vscode-editorWidget-background"],
} as const;

const PLAIN = /^#[0-9a-f]{3,8}$|^rgba?\([\d\s.,%/]+\)$/i;

/** As the page looks now. */
export function lookNow(): Look {
  const root = getComputedStyle(document.documentElement);
  const dark = !/\bvscode-(?:high-contrast-)?light\b/.test(document.body.className);
  const colour = (names: readonly string[]): string =>
    names.map((name) => root.getPropertyValue(name).trim()).find((value) => PLAIN.test(value)) ?? "";
  const of = (what: keyof typeof COLOURS, otherwise: string): string => colour(COLOURS[what]) || otherwise;
  const text = of("text", dark ? "#cccccc" : "#333333");
  const ground = of("ground", dark ? "#1e1e1e" : "#ffffff");
  return {
    dark,
    font: getComputedStyle(document.body).fontFamily || "sans-serif",
    ground,
    text,
    line: of("line", text),
    box: of("box", ground),
    border: of("border", text),
    group: of("group", ground),
    note: of("note", ground),
  };
}

/** Calls back when the editor changes its theme. */
export function onLook(changed: () => void): void {
  const watcher = new MutationObserver(changed);
  watcher.observe(document.body, { attributes: true, attributeFilter: ["class", "data-vscode-theme-id"] });
  watcher.observe(document.documentElement, { attributes: true, attributeFilter: ["style"] });
}
