import type { IncomingMessage } from "node:http";

/** A request as a server here got it. */
export interface LoggedRequest {
  readonly method: string;
  readonly path: string;
  readonly query: URLSearchParams;
  /** The fields of a form; none where the body is something else. */
  readonly form: URLSearchParams;
  /** The body where it is a JSON object; else empty. */
  readonly json: Readonly<Record<string, unknown>>;
  readonly headers: IncomingMessage["headers"];
}

const longestBody = 1_000_000;

/** Reads a request whole. Rejects if its body is too large. */
export async function readRequest(incoming: IncomingMessage, origin: string): Promise<LoggedRequest> {
  const { method = "", url = "", headers } = incoming;
  let body = "";
  for await (const chunk of incoming) {
    body += String(chunk);
    if (body.length > longestBody) throw new Error("The body is too large.");
  }
  const { pathname, searchParams } = new URL(url, origin);
  const isJson = headers["content-type"]?.startsWith("application/json") ?? false;
  return {
    method,
    path: pathname,
    query: searchParams,
    form: new URLSearchParams(isJson ? "" : body),
    json: isJson ? objectOf(body) : {},
    headers,
  };
}

function objectOf(text: string): Record<string, unknown> {
  try {
    const value: unknown = JSON.parse(text);
    return typeof value === "object" && value !== null ? (value as Record<string, unknown>) : {};
  } catch {
    return {};
  }
}
