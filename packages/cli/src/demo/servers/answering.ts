import type { IncomingMessage, RequestListener, ServerResponse } from "node:http";

/** Answers requests, and 400 to those that cannot be understood: whoever sends them must not end the demonstration. */
export function answering(
  answer: (request: IncomingMessage, response: ServerResponse) => Promise<void>,
): RequestListener {
  return (request, response) => {
    request.on("error", () => {});
    answer(request, response).catch(() => {
      if (!response.headersSent) response.writeHead(400);
      response.end();
    });
  };
}
