/** A tool result, as far as `textOf` reads it. */
export interface TextResult {
  readonly content?: readonly unknown[] | undefined;
}

/**
 * The text of a tool result: its text parts and the text of its embedded resources, one below the other. Images, audio and links are left
 * out. Empty if it has no text.
 */
export function textOf({ content = [] }: TextResult): string {
  return content.flatMap((part) => textOfPart(part as ContentPart)).join("\n");
}

interface ContentPart {
  readonly type?: unknown;
  readonly text?: unknown;
  readonly resource?: { readonly text?: unknown } | undefined;
}

function textOfPart({ type, text, resource }: ContentPart): string[] {
  const found = type === "resource" ? resource?.text : text;
  return typeof found === "string" ? [found] : [];
}
