import { displayWidth } from "./display-width.js";

/** The text in lines of at most `width` columns, broken at spaces, each after `indent`; without a width, one line. */
export function wrap(text: string, width: number | undefined, indent: string): string[] {
  if (width === undefined) return [indent + text];
  const lines: string[] = [];
  let line = "";
  for (const word of text.split(" ")) {
    const longer = line === "" ? word : `${line} ${word}`;
    if (line !== "" && displayWidth(indent) + displayWidth(longer) > width) {
      lines.push(line);
      line = word;
    } else line = longer;
  }
  return [...lines, line].map((each) => indent + each);
}
