import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { onTestFinished, vi } from "vitest";

/** oidc-provider with registration, rotation, revocation, device flow, resource indicators and DPoP. Ends with the test. */
export interface RealAuthorizationServer {
  readonly issuer: string;
  /** The lifetime of new access tokens in seconds. */
  lifetimeS: number;
  /** Every access and refresh token that was issued. */
  readonly issued: readonly string[];
  /** How often a path was requested. */
  count(path: string): number;
  /** The details of an access token; undefined if it is not valid. */
  find(accessToken: string): Promise<GoodToken | undefined>;
  /** Revokes all grants with their tokens. */
  endGrants(): Promise<void>;
  close(): Promise<void>;
}

export interface GoodToken {
  readonly scopes: readonly string[];
  readonly clientId: string;
  /** In seconds since the epoch. */
  readonly expiresAt: number;
}

export interface RealServerOptions {
  /** Clients that are registered by hand. */
  readonly clients?: readonly object[];
  /** The initial lifetime of access tokens in seconds. Default 3600. */
  readonly lifetimeS?: number;
  /** Whether proofs need a nonce. */
  readonly requiresNonce?: boolean;
  /** Whether forms are shown; otherwise every user is signed in and consents. Default false. */
  readonly hasForms?: boolean;
  /** Whether a refresh token requires a new consent (prompt=consent), as by default in oidc-provider. Default false. */
  readonly needsConsent?: boolean;
  /** The lifetime of identity tokens in seconds. Default 600. */
  readonly idTokenS?: number;
  /** Further grant types, by name: the token response for a request's parameters. */
  readonly grantTypes?: Readonly<Record<string, CustomGrant>>;
}

/** Creates a token response; `issue` creates an access token with these scopes. */
export type CustomGrant = (
  parameters: Readonly<Record<string, string | undefined>>,
  issue: (scope: string) => Promise<string>,
) => Promise<object>;

const account = "ada";

export async function startRealAuthorizationServer(options: RealServerOptions = {}): Promise<RealAuthorizationServer> {
  const { clients = [], lifetimeS = 3600, requiresNonce = false, hasForms = false, needsConsent = false } = options;
  const { idTokenS = 600, grantTypes = {} } = options;
  muteProvider();
  const { Provider } = await import("oidc-provider");
  const paths: string[] = [];
  const issued: string[] = [];
  const grants = new Set<string>();
  const server = createServer();
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const issuer = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const provider = new Provider(issuer, {
    clients,
    scopes: ["openid", "offline_access", "notes:read", "notes:write"],
    rotateRefreshToken: true,
    // By default it issues one only with prompt=consent, which no client should force.
    ...(needsConsent
      ? {}
      : {
          issueRefreshToken: async (_: unknown, client: { grantTypeAllowed(type: string): boolean }) =>
            client.grantTypeAllowed("refresh_token"),
        }),
    pkce: { required: () => true },
    cookies: { keys: ["for the tests alone"] },
    interactions: { url: (_: unknown, interaction: { uid: string }) => `/interaction/${interaction.uid}` },
    findAccount: (_: unknown, accountId: string) => ({ accountId, claims: () => ({ sub: accountId }) }),
    ttl: {
      AccessToken: () => self.lifetimeS,
      ClientCredentials: () => self.lifetimeS,
      DeviceCode: 600,
      Grant: 86_400,
      Session: 86_400,
      Interaction: 600,
      RefreshToken: 86_400,
      IdToken: idTokenS,
    },
    clientAuthMethods: ["none", "client_secret_basic", "client_secret_post", "private_key_jwt"],
    features: {
      devInteractions: { enabled: false },
      registration: { enabled: true },
      revocation: { enabled: true },
      deviceFlow: { enabled: true },
      clientCredentials: { enabled: true },
      dPoP: { enabled: true, nonceSecret: Buffer.alloc(32, 1), requireNonce: () => requiresNonce },
      resourceIndicators: {
        enabled: true,
        useGrantedResource: () => true,
        getResourceServerInfo: (_: unknown, resource: string) => ({
          scope: "notes:read notes:write",
          audience: resource,
          accessTokenTTL: self.lifetimeS,
          accessTokenFormat: "opaque",
        }),
      },
    },
  });
  for (const [name, grant] of Object.entries(grantTypes)) {
    const parameters = ["assertion", "audience", "requested_token_type", "resource", "scope", "subject_token"];
    provider.registerGrantType(
      name,
      async (context) => {
        const { client, params } = context.oidc;
        context.body = await grant(params, (scope) => new provider.ClientCredentials({ client, scope }).save());
      },
      [...parameters, "subject_token_type"],
      ["resource"],
    );
  }
  for (const event of ["access_token.saved", "refresh_token.saved", "client_credentials.saved"]) {
    provider.on(event, ({ jti, grantId }: { readonly jti: string; readonly grantId?: string }) => {
      issued.push(jti);
      if (grantId !== undefined) grants.add(grantId);
    });
  }

  /** Shows a form for each prompt, and accepts it when it is submitted. */
  const interact = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    const { prompt, params, session, grantId } = await provider.interactionDetails(request, response);
    if (hasForms && request.method === "GET") {
      response.writeHead(200, { "content-type": "text/html; charset=utf-8" }).end(formFor(prompt.name, params));
      return undefined;
    }
    if (prompt.name === "login")
      return provider.interactionFinished(request, response, { login: { accountId: account } });
    const known = grantId === undefined ? undefined : await provider.Grant.find(grantId);
    const grant =
      known ?? new provider.Grant({ accountId: session?.accountId ?? account, clientId: params.client_id ?? "" });
    const { missingOIDCScope = [], missingResourceScopes = {} } = prompt.details;
    if (missingOIDCScope.length > 0) grant.addOIDCScope(missingOIDCScope.join(" "));
    for (const [resource, scopes] of Object.entries(missingResourceScopes))
      grant.addResourceScope(resource, scopes.join(" "));
    return provider.interactionFinished(
      request,
      response,
      { consent: { grantId: await grant.save() } },
      { mergeWithLastSubmission: true },
    );
  };

  const handle = provider.callback();
  server.on("request", (request, response) => {
    const { pathname } = new URL(request.url ?? "", issuer);
    paths.push(pathname);
    if (pathname.startsWith("/interaction/")) void interact(request, response);
    else handle(request, response);
  });
  const close = async (): Promise<void> => {
    server.closeAllConnections();
    await new Promise((resolve) => server.close(resolve));
  };
  onTestFinished(close);
  const self: RealAuthorizationServer = {
    issuer,
    lifetimeS,
    issued,
    count: (path) => paths.filter((each) => each === path).length,
    async find(token) {
      const found = (await provider.AccessToken.find(token)) ?? (await provider.ClientCredentials.find(token));
      if (found === undefined || found.isExpired) return undefined;
      return { scopes: (found.scope ?? "").split(" "), clientId: found.clientId, expiresAt: found.exp };
    },
    async endGrants() {
      for (const id of grants) await (await provider.Grant.find(id))?.destroy();
    },
    close,
  };
  return self;
}

function formFor(prompt: string, { scope = "" }: Readonly<Record<string, string>>): string {
  const fields =
    prompt === "login"
      ? `<label>Name <input name="name" value=""></label><button>Sign in</button>`
      : `<p>It asks for: ${scope}</p><button>Allow</button>`;
  return `<!doctype html><html lang="en"><meta charset="utf-8"><title>${prompt}</title><link rel="icon" href="data:,">
<form method="post">${fields}</form></html>`;
}

/** Hides the console output of oidc-provider. */
function muteProvider(): void {
  for (const method of ["info", "warn"] as const) {
    const original = console[method].bind(console);
    const spy = vi.spyOn(console, method).mockImplementation((...args: unknown[]) => {
      if (!args.some((arg) => String(arg).includes("oidc-provider"))) original(...args);
    });
    onTestFinished(() => spy.mockRestore());
  }
}
