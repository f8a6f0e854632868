/**
 * Sentences for the notifications of the editor, which draw no Markdown.
 *
 * Owns how a name in backticks stands there. Shows nothing itself.
 */

/** The sentence with its code in quotation marks. */
export function plainly(sentence: string): string {
  return sentence.replaceAll(/`([^`\n]+)`/g, "“$1”");
}
