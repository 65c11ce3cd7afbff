/** A picture of one pixel, in base64. */
export const png: string =
  "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mP8z8DwHwAFBQIAX8jx0gAAAABJRU5ErkJggg==";

/** A sound of one sample, in base64. */
export const wav: string = "UklGRiYAAABXQVZFZm10IBAAAAABAAEAQB8AAAB9AAACABAAZGF0YQIAAAA=";

/** A block of text. */
export function text(words: string): { type: "text"; text: string } {
  return { type: "text", text: words };
}

/** A result of one block of text. */
export function textResult(words: string): { content: [{ type: "text"; text: string }] } {
  return { content: [text(words)] };
}

export const image: { type: "image"; data: string; mimeType: string } = {
  type: "image",
  data: png,
  mimeType: "image/png",
};
