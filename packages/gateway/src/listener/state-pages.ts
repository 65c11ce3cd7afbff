import type { HttpRequest, HttpResponse } from "../endpoint/http-exchange.js";

/** Answers with a short text. */
export function sendText(
  request: HttpRequest,
  response: HttpResponse,
  status: number,
  text: string,
  type = "text/plain; charset=utf-8",
): void {
  const length = Buffer.byteLength(text);
  response.writeHead(status, { "content-type": type, "content-length": length, "cache-control": "no-store" });
  if (request.method === "HEAD") response.end();
  else response.end(text);
}
