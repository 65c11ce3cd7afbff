import { rootCertificates } from "node:tls";
import { createConnectTransport } from "@connectrpc/connect-node";
import { type AdminClient, createAdminClient } from "./client/admin-client.js";
import { type AdminTokens, sendTokens } from "./client/admin-header.js";

/** How a gateway is reached from Node. */
export interface ConnectAdminOptions extends AdminTokens {
  /** The authority that signed its certificate, in PEM, besides those that Node knows. */
  readonly ca?: string | undefined;
}

/** A client for the administration of the gateway at a base URL, such as `https://127.0.0.1:4690`. Nothing is opened yet. */
export function connectAdmin(url: string, { ca, ...tokens }: ConnectAdminOptions = {}): AdminClient {
  return createAdminClient(
    createConnectTransport({
      baseUrl: url,
      // Over HTTP/1.1 a refusal that comes before the request was written is lost with its connection.
      httpVersion: "2",
      ...(ca !== undefined && { nodeOptions: { ca: [...rootCertificates, ca] } }),
      interceptors: [sendTokens(tokens)],
    }),
  );
}
