import { createServer, type IncomingMessage } from "node:http";
import type { AddressInfo } from "node:net";
import { type LoggedRequest, readRequest } from "@wirescope/quirks";
import { onTestFinished } from "vitest";

/** The response of an issuer: the status, and the body, which is sent as JSON unless it is a string. */
export type IssuerResponse = readonly [status: number, body: unknown];

/** Starts an authorization server that responds as the test says, and nothing else; resolves with its issuer. Ends with the test. */
export async function startBareIssuer(
  waitForRedirect: (request: LoggedRequest, issuer: string) => IssuerResponse,
): Promise<string> {
  const server = createServer();
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  onTestFinished(async () => {
    server.closeAllConnections();
    await new Promise((resolve) => server.close(resolve));
  });
  const issuer = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  server.on("request", async (incoming: IncomingMessage, response) => {
    const [status, body] = waitForRedirect(await readRequest(incoming, issuer), issuer);
    const text = typeof body === "string" ? body : JSON.stringify(body);
    response.writeHead(status, { "content-type": "application/json" }).end(text);
  });
  return issuer;
}
