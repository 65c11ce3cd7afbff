/**
 * The text of an HTML page, without markup, styles and scripts. In linear time for any input: a tag ends at the next `<`, too, because a
 * hostile page may open a hundred thousand tags and close none.
 */
export function textOfPage(body: string): string {
  return body.replace(/<(script|style)\b.*?(<\/\1>|$)/gis, " ").replace(/<[^<>]*>/g, " ");
}

/** The content of the `title` element; undefined if there is none. */
export function titleOfPage(body: string): string | undefined {
  return /<title[^<>]*>([^<]*)/i.exec(body)?.[1];
}
