import type { CredentialDescription, OAuthDescription } from "@wirescope/tool-server";
import type { AdminAtHand } from "./ask-gateway.js";
import { listServers } from "./list-servers.js";
import { credentialKindOf, oauthOf } from "./messages.js";

/** How one server is signed in to. */
export interface AuthRow {
  readonly name: string;
  readonly credential?: Pick<CredentialDescription, "kind" | "summary"> | undefined;
  readonly oauth?: OAuthDescription | undefined;
  readonly problem?: { readonly code: string | undefined; readonly message: string } | undefined;
}

/** How the gateway that runs is signed in to a server, or to all. */
export async function authRows(gateway: AdminAtHand, name: string | undefined): Promise<readonly AuthRow[]> {
  const servers = await listServers(gateway, name);
  return servers.map(({ name: server, authentication, failure }): AuthRow => {
    if (authentication === undefined)
      return { name: server, problem: failure ?? { code: undefined, message: `${server} is not connected yet.` } };
    const { method, summary, oauth } = authentication;
    return { name: server, credential: { kind: credentialKindOf(method), summary }, oauth: oauth && oauthOf(oauth) };
  });
}
