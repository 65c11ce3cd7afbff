import { rootCertificates } from "node:tls";
import { createConnectTransport, Http2SessionManager } from "@connectrpc/connect-node";
import { type AdminClient, createAdminClient } from "./client/admin-client.js";
import { type AdminTokens, sendTokens } from "./client/admin-header.js";

/** How a gateway is reached from Node. */
export interface ConnectAdminOptions extends AdminTokens {
  /** The authority that signed its certificate, in PEM, besides those that Node knows. */
  readonly ca?: string | undefined;
}

/** The administration of a gateway over a connection of its own. */
export interface ConnectedAdmin {
  readonly client: AdminClient;
  /**
   * Ends the connection and the calls on it. A program that left a stream before its end needs this to end: Node keeps a stream open
   * whose last bytes nobody reads, and its connection with it.
   */
  close(): void;
}

/** Connects to the administration of the gateway at a base URL, such as `https://127.0.0.1:4690`. Nothing is opened yet. */
export function openAdminConnection(url: string, { ca, ...tokens }: ConnectAdminOptions = {}): ConnectedAdmin {
  const tls = ca === undefined ? undefined : { ca: [...rootCertificates, ca] };
  const sessionManager = new Http2SessionManager(url, undefined, tls);
  const transport = createConnectTransport({
    baseUrl: url,
    // Over HTTP/1.1 a refusal that comes before the request was written is lost with its connection.
    httpVersion: "2",
    sessionManager,
    interceptors: [sendTokens(tokens)],
  });
  return { client: createAdminClient(transport), close: () => sessionManager.abort() };
}

/** A client alone, for a program that runs on. */
export function connectAdmin(url: string, options: ConnectAdminOptions = {}): AdminClient {
  return openAdminConnection(url, options).client;
}
