import type { ServerResponse } from "node:http";

/** The response of a server: status, body (sent as it is, or as JSON) and headers; or nothing; or an endless body. */
export type QuirkResponse =
  | readonly [status: number, body: unknown, headers?: Readonly<Record<string, string>>]
  | "silence"
  | "flood";

/** A page in place of metadata. */
export const somePage: QuirkResponse = [200, "<!doctype html><title>Welcome</title>", { "content-type": "text/html" }];

export function sendResponse(response: ServerResponse, content: QuirkResponse): void {
  if (content === "silence") return;
  if (content === "flood") {
    flood(response);
    return;
  }
  const [status, body, headers] = content;
  const text = typeof body === "string" ? body : JSON.stringify(body);
  response.writeHead(status, { "content-type": "application/json", ...headers }).end(text);
}

/** Writes until the other side has had enough. */
function flood(response: ServerResponse): void {
  response.writeHead(200, { "content-type": "application/json" });
  const piece = `"${"x".repeat(65_536)}",`;
  const more = (): void => {
    if (!response.destroyed) response.write(piece, () => setImmediate(more));
  };
  response.write("[");
  more();
}
