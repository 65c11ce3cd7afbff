import type { OAuthOverrides, OAuthSettings } from "@wirescope/tool-server";
import { createMemoryVault, type MachineGrant } from "@wirescope/tool-server/auth";
import { obligingPerson } from "./sign-in.js";

/** What the suite passes to a client for a scenario. */
type Context = Readonly<Record<string, string | undefined>>;

/** How our client signs in to the servers of a scenario. */
export function oauthSettingsOf(scenario: string, context: Context): OAuthSettings {
  return {
    vault: createMemoryVault(),
    signIn: obligingPerson,
    allowInsecureLoopback: true,
    overrides: () => overridesOf(scenario, context),
  };
}

function overridesOf(scenario: string, context: Context): OAuthOverrides {
  const client = clientOf(context);
  const grant = grantOf(scenario, context);
  return {
    ...(client === undefined ? {} : { client }),
    ...(grant === undefined ? {} : { grant }),
    ...(scenario === "auth/basic-cimd"
      ? { clientMetadataUrl: "https://conformance-test.local/client-metadata.json" }
      : {}),
  };
}

function clientOf(context: Context): OAuthOverrides["client"] {
  const { client_id: clientId, client_secret: clientSecret, private_key_pem: privateKey } = context;
  if (clientId === undefined) return undefined;
  return { clientId, clientSecret, privateKey, algorithm: context.signing_algorithm };
}

function grantOf(scenario: string, context: Context): MachineGrant | undefined {
  const {
    valid_jwt: assertion,
    idp_id_token: idToken,
    idp_token_endpoint: tokenEndpoint,
    idp_issuer: issuer,
  } = context;
  if (scenario.startsWith("auth/client-credentials")) return { kind: "client-credentials" };
  if (assertion !== undefined) return { kind: "workload", assertion: async () => assertion };
  if (idToken === undefined || tokenEndpoint === undefined) return undefined;
  const provider = { tokenEndpoint, issuer, client: { clientId: context.idp_client_id ?? "" } };
  return { kind: "enterprise", url: tokenEndpoint, identity: async () => ({ provider, idToken }) };
}
