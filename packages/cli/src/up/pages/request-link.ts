import { request as requestHttp } from "node:http";
import { request as requestHttps } from "node:https";
import { json } from "node:stream/consumers";
import { rootCertificates } from "node:tls";
import type { RunningGateway } from "../../gateway-file.js";
import { UsageError } from "../../usage-error.js";

/** The path at which `wirescope page` requests a link from a running gateway. */
export const linkPath = "/page-link";
/** The header with the administrator's token, as in the administration API; not imported, because that would load all its messages. */
export const adminHeader = "wirescope-admin";

const responseMs = 20_000;

export interface LinkRequest {
  /** The server to sign in to. Default: none, for a link to the page itself. */
  readonly server?: string | undefined;
  /** Default false. */
  readonly isReadOnly?: boolean | undefined;
  /** PEM of a private CA. */
  readonly ca?: string | undefined;
}

/** Requests a new link to the page of a running gateway, or to the sign-in of a server. Rejects with a UsageError. */
export async function requestLink(
  { endpoint, adminToken = "" }: RunningGateway,
  { server, isReadOnly = false, ca }: LinkRequest = {},
): Promise<string> {
  const url = new URL(linkPath, endpoint);
  if (server !== undefined) url.searchParams.set("server", server);
  if (isReadOnly) url.searchParams.set("rights", "reader");
  const signal = AbortSignal.timeout(responseMs);
  const options = { method: "POST", agent: false, signal, headers: { [adminHeader]: adminToken } };
  const body = await new Promise<unknown>((resolve, reject) => {
    const request =
      url.protocol === "https:"
        ? requestHttps(url, { ...options, ...(ca !== undefined && { ca: [...rootCertificates, ca] }) })
        : requestHttp(url, options);
    request.once("response", (response) => json(response).then(resolve, reject));
    request.once("error", reject).end();
  }).catch((error: unknown) => {
    const why = error instanceof Error ? error.message : String(error);
    throw new UsageError(
      `The gateway at ${url.origin} did not return a link (${why}). If its certificate is signed by a private CA, use --ca <file>.`,
    );
  });
  const { link, message } = body as { readonly link?: unknown; readonly message?: unknown };
  if (typeof link === "string") return link;
  throw new UsageError(typeof message === "string" ? message : `The gateway at ${url.origin} did not return a link.`);
}
