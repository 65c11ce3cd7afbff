import { rootCertificates } from "node:tls";
import { createConnectTransport, Http2SessionManager } from "@connectrpc/connect-node";
import { type AdminClient, createAdminClient } from "./client/admin-client.js";
import { type AdminTokens, sendTokens } from "./client/admin-header.js";

/** How to reach a gateway from Node. */
export interface ConnectAdminOptions extends AdminTokens {
  /** An additional CA for its certificate, in PEM. */
  readonly ca?: string | undefined;
}

/** An administration client with its own connection. */
export interface ConnectedAdmin {
  readonly client: AdminClient;
  /**
   * Closes the connection and the calls on it. A program that stopped reading a stream early needs this in order to exit: Node keeps a
   * stream open until its last bytes are read.
   */
  close(): void;
}

/** Creates a client for the gateway at a base URL, such as `https://127.0.0.1:4690`. It connects with the first call. */
export function openAdminConnection(url: string, { ca, ...tokens }: ConnectAdminOptions = {}): ConnectedAdmin {
  const tls = ca === undefined ? undefined : { ca: [...rootCertificates, ca] };
  const sessionManager = new Http2SessionManager(url, undefined, tls);
  const transport = createConnectTransport({
    baseUrl: url,
    // Over HTTP/1.1 a refusal that arrives before the request is written is lost with its connection.
    httpVersion: "2",
    sessionManager,
    interceptors: [sendTokens(tokens)],
  });
  return { client: createAdminClient(transport), close: () => sessionManager.abort() };
}

/** Only the client, for a program that keeps running. */
export function connectAdmin(url: string, options: ConnectAdminOptions = {}): AdminClient {
  return openAdminConnection(url, options).client;
}
