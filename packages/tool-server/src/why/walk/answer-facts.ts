import { parseUrl } from "../../url.js";
import type { AnswerFacts } from "../facts.js";
import type { SeenExchange } from "./recording-client.js";
import type { Walk } from "./walk.js";

const page = /^\s*(?:<\?xml[^>]*>\s*)?(?:<!doctype html|<html|<head|<body)/i;

/** What an answer was, for people and for judgement. */
export function answerFactsOf({ say }: Pick<Walk, "say">, exchange: SeenExchange): AnswerFacts {
  const { method, url, status, headers } = exchange;
  const body = exchange.body();
  const [mediaType = ""] = (headers["content-type"] ?? "").toLowerCase().split(";");
  const isPage = page.test(body);
  const title = isPage ? say(/<title[^>]*>([^<]*)/i.exec(body)?.[1] ?? "", 150) : undefined;
  return {
    method,
    path: say(url.pathname, 200),
    status,
    mediaType: say(mediaType, 100),
    title,
    excerpt: say(isPage ? textOfPage(body) : textOfBody(body), 500),
    location: locationOf(headers.location, url, say),
    retryAfter: headers["retry-after"] === undefined ? undefined : say(headers["retry-after"], 50),
  };
}

/** The words of a page, without its marks, styles and scripts. */
function textOfPage(body: string): string {
  return body.replace(/<(script|style)\b.*?(<\/\1>|$)/gis, " ").replace(/<[^>]*>/g, " ");
}

/** What a body says: the words of an error where it is JSON and has some, else the text itself. */
function textOfBody(body: string): string {
  try {
    const words = wordsOf(JSON.parse(body), 0);
    return words.length > 0 ? words.join(": ") : /\w/.test(body) ? body : "";
  } catch {
    return body;
  }
}

const telling = [
  "error",
  "code",
  "title",
  "message",
  "error_description",
  "description",
  "detail",
  "details",
  "reason",
];

function wordsOf(value: unknown, depth: number): string[] {
  if (typeof value === "string") return depth === 0 ? [] : [value];
  if (typeof value !== "object" || value === null || depth > 3) return [];
  if (Array.isArray(value)) return value.slice(0, 3).flatMap((item) => wordsOf(item, depth + 1));
  const fields = new Map(Object.entries(value));
  return [...telling, "errors"].flatMap((name) => wordsOf(fields.get(name), depth + 1));
}

/** Where an answer sends to: without query, which may hold what is nobody's business. */
function locationOf(location: string | undefined, base: URL, say: Walk["say"]): string | undefined {
  const url = location === undefined ? undefined : parseUrl(location, base);
  if (url === undefined) return undefined;
  const { origin, protocol, host, pathname } = url;
  return say(`${origin === "null" ? `${protocol}//${host}` : origin}${pathname}`, 300);
}
