import type { ServerResponse } from "node:http";

/** What a server answers: a status, a body that is sent as it is or as JSON, and headers; or nothing; or something without end. */
export type Answer =
  | readonly [status: number, body: unknown, headers?: Readonly<Record<string, string>>]
  | "silence"
  | "flood";

/** A page, as it answers where metadata was asked for. */
export const somePage: Answer = [200, "<!doctype html><title>Welcome</title>", { "content-type": "text/html" }];

export function sendAnswer(response: ServerResponse, answer: Answer): void {
  if (answer === "silence") return;
  if (answer === "flood") {
    flood(response);
    return;
  }
  const [status, body, headers] = answer;
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
