import { describe, expect, it } from "vitest";
import { visible } from "../../src/webview/visible";

describe("raw text at a decision", () => {
  it("shows what would not be seen, and its own marks", () => {
    const raw = `./bu\u0001il\u200bd \u202ex\u00ad\u{e0041}\u00a0⟨U+200B⟩\r\n\tls`;
    expect(visible(raw)).toBe(
      "./bu⟨U+0001⟩il⟨U+200B⟩d ⟨U+202E⟩x⟨U+00AD⟩⟨U+E0041⟩⟨U+00A0⟩⟨U+27E8⟩U+200B⟨U+27E9⟩⟨U+000D⟩\n\tls",
    );
    expect(visible(`ls${" ".repeat(4000)}; touch x`)).toBe("ls⟨4000 spaces⟩; touch x");
  });

  it("leaves usual text as it is", () => {
    const usual = '{\n  "command": "cargo test --lib",\n  "reason": "Проверить, что λ и 東京 видны"\n}';
    expect(visible(usual)).toBe(usual);
  });
});
