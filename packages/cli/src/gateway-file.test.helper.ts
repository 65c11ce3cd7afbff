import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import type { RunningGateway } from "./gateway-file.js";
import { createProofPage, newProofKey, proofPath } from "./gateway-proof.js";

/** The part of a gateway that the gateway file needs: it proves that it has the key of the file. */
export interface ProvingGateway extends AsyncDisposable {
  readonly running: RunningGateway & { readonly proofKey: string };
  /** All requests that it received: method, path and headers. */
  readonly seen: readonly string[];
}

/**
 * Listens like a gateway. With `hasWrongKey` it does not have the key, like a program that took the port. With `isSilent` it never
 * responds, like a stopped process.
 */
export async function serveProvingGateway({
  hasWrongKey = false,
  isSilent = false,
}: {
  readonly hasWrongKey?: boolean;
  readonly isSilent?: boolean;
} = {}): Promise<ProvingGateway> {
  const proofKey = newProofKey();
  const page = createProofPage(hasWrongKey ? newProofKey() : proofKey);
  const seen: string[] = [];
  const server = createServer((request, response) => {
    seen.push(`${request.method} ${request.url} ${JSON.stringify(request.headers)}`);
    if (isSilent) return;
    if (request.url?.startsWith(`${proofPath}?`)) page(request, response);
    else response.writeHead(404).end();
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const channelz = `127.0.0.1:${(server.address() as AddressInfo).port}`;
  return {
    running: { pid: process.pid, endpoint: `http://${channelz}/mcp`, channelz, proofKey },
    seen,
    async [Symbol.asyncDispose]() {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}
