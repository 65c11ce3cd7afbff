/** Whether a body begins like an HTML page, which is more reliable than its media type. */
export function isPage(body: string): boolean {
  return /^\s*(?:<\?xml[^>]*>\s*)?(?:<!doctype html|<html|<head|<body)/i.test(body);
}

/**
 * The text of an HTML page, without markup, styles and scripts. In linear time for any input: a tag ends at the next `<`, too, because a
 * hostile page may open a hundred thousand tags and close none.
 */
export function textOfPage(body: string): string {
  return body.replace(/<(script|style)\b.*?(<\/\1>|$)/gis, " ").replace(/<[^<>]*>/g, " ");
}

/** The content of the `title` element, on one line; undefined if there is none. */
export function titleOfPage(body: string): string | undefined {
  return /<title[^<>]*>([^<]*)/i.exec(body)?.[1]?.trim().replace(/\s+/g, " ");
}
