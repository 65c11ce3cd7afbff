import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import type { RunningGateway } from "./gateway-file.js";
import { createProofPage, newProofKey, proofPath } from "./gateway-proof.js";

/** A gateway as far as the gateway file goes: it proves that it has the key of the file. */
export interface ProvingGateway extends AsyncDisposable {
  readonly running: RunningGateway & { readonly proofKey: string };
  /** All that was asked of it: method, path and headers. */
  readonly seen: readonly string[];
}

/**
 * Listens as a gateway does. With `isThief` it does not have the key, as a program that took the port of another. With `isSilent` it never
 * responds, as a process that is stopped.
 */
export async function serveProvingGateway({
  isThief = false,
  isSilent = false,
}: {
  readonly isThief?: boolean;
  readonly isSilent?: boolean;
} = {}): Promise<ProvingGateway> {
  const proofKey = newProofKey();
  const page = createProofPage(isThief ? newProofKey() : proofKey);
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
