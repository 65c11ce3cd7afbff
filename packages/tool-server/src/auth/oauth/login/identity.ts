import { commandLine } from "../../../command-line.js";
import type { ToolServerError } from "../../../errors.js";
import { stringOf } from "../../../json-object.js";
import { heldTokenOf, isExpired, removeTokensOf, type TokenRecord, vaultKeyOf } from "../login-store.js";
import { oauthFailure } from "../oauth-errors.js";
import { parseEndpoint } from "../requests/endpoint-rules.js";
import type { Ask } from "../sign-in/ask.js";
import { grantName, type Identity } from "../tokens/machine-grant.js";
import { contextOf, type OAuthLoginOptions } from "./login-options.js";
import { createOAuthLogin, type OAuthLogin } from "./oauth-login.js";

/** The identity provider of an organization, and where a user's sign-in with it is stored. */
export interface IdentityLoginOptions
  extends Pick<
    OAuthLoginOptions,
    "vault" | "http" | "secrets" | "clock" | "limits" | "allowInsecureLoopback" | "log" | "profile" | "redirect"
  > {
  /** Its issuer, exactly as published. */
  readonly issuer: string;
  /** The client that is registered there. Default: that of the stored sign-in. */
  readonly clientId?: string | undefined;
  readonly clientSecret?: string | undefined;
}

/** A user's sign-in with an identity provider, without a token. */
export interface IdentityStatus {
  readonly issuer: string;
  readonly clientId: string;
  /** The e-mail address or name of the user, if the provider discloses it. */
  readonly account: string | undefined;
  /** When the identity token expires, in milliseconds since the epoch. */
  readonly expiresAt: number;
  /** Whether the token is renewed without the user. */
  readonly isRenewable: boolean;
}

/** A user's sign-in with the identity provider of an organization (OpenID Connect). All processes of the user share it. */
export interface IdentityLogin {
  /** Lets a user sign in, and stores the identity token. Rejects as `OAuthLogin.signIn` does. */
  signIn(ask: Ask, signal: AbortSignal): Promise<IdentityStatus>;
  /** A valid identity token, renewed if required. Rejects with SIGN_IN_NEEDED if a user has to sign in. */
  identity(): Promise<Identity>;
  /** The stored sign-in; undefined if there is none. */
  status(): Promise<IdentityStatus | undefined>;
  /** Deletes the stored tokens, and those of servers that were obtained with them; resolves with whether the user was signed in. */
  signOut(): Promise<boolean>;
}

/** `offline_access` requests a refresh token: without one, a user has to sign in again when the identity token expires. */
const scopes = ["openid", "email", "offline_access"];

/** Opens the sign-in of a user with an identity provider. Sends nothing yet. Throws a TypeError if the issuer is invalid. */
export function createIdentityLogin(options: IdentityLoginOptions): IdentityLogin {
  const { issuer, vault, clientSecret, profile } = options;
  const loginOptions: OAuthLoginOptions = {
    ...options,
    server: issuer,
    url: issuer,
    isIdentityProvider: true,
    scopes,
    resource: false,
    assumePkce: true,
  };
  const context = contextOf(loginOptions);
  const url = parseEndpoint(issuer, context);
  if (typeof url === "string") throw new TypeError(`The issuer of the identity provider is invalid: ${url}.`);
  const grant = grantName({ kind: "enterprise", url: issuer });
  const sameProfile = profile === "default" ? [] : ["--profile", profile];
  const sameRules = url.protocol === "http:" ? ["--allow-insecure-loopback"] : [];
  const signInNeeded = (problem: string, client: readonly string[] = []): ToolServerError => {
    const advice = `Sign in with: ${commandLine("login", "--idp", issuer, ...client, ...sameRules, ...sameProfile)}`;
    return oauthFailure(context, "SIGN_IN_NEEDED", { problem, advice });
  };
  const notSignedIn = async (): Promise<ToolServerError> => {
    // A command without it uses that of the last sign-in.
    const client = (await storedClientId()) === undefined ? ["--client-id", options.clientId ?? "…"] : [];
    return signInNeeded("you are not signed in to this identity provider.", client);
  };

  /** The client of the stored tokens, or else of the last sign-in. */
  const storedClientId = async (): Promise<string | undefined> => {
    const held = heldTokenOf(context, await vault.get(vaultKeyOf(context, issuer, "tokens")));
    return held?.record.clientId ?? stringOf((await vault.get(vaultKeyOf(context, issuer, "client")))?.value.clientId);
  };

  let current: { readonly clientId: string; readonly login: OAuthLogin } | undefined;
  const loginWith = (clientId: string | undefined): OAuthLogin | undefined => {
    if (clientId === undefined) return undefined;
    if (current?.clientId !== clientId) {
      const authentication = clientSecret === undefined ? "none" : "client_secret_post";
      const client = { clientId, clientSecret, authentication } as const;
      current = { clientId, login: createOAuthLogin({ ...loginOptions, client }) };
    }
    return current?.login;
  };
  /** The login for the stored tokens, which another process may have replaced. */
  const storedLogin = async (): Promise<OAuthLogin | undefined> =>
    loginWith((await storedClientId()) ?? options.clientId);

  const statusOf = ({ clientId, identity, expiresAt = 0, refreshToken }: TokenRecord): IdentityStatus => ({
    issuer,
    clientId,
    account: identity,
    expiresAt,
    isRenewable: refreshToken !== undefined,
  });

  return {
    async signIn(ask, signal) {
      const found = loginWith(options.clientId ?? (await storedClientId()));
      if (found === undefined) {
        const advice = "Register a client for Wirescope with the identity provider, and pass its id with --client-id.";
        throw oauthFailure(context, "SIGN_IN_FAILED", { problem: "no client id is known for it.", advice });
      }
      const { record } = await found.signIn(ask, {}, signal);
      // Servers must not act for the user who was signed in before.
      await removeTokensOf(context, grant, record.subject);
      return statusOf(record);
    },
    async identity() {
      const found = await storedLogin();
      const tokens = await found?.tokens();
      await tokens?.reload();
      const held = await tokens?.current();
      if (found === undefined || held === undefined) {
        const { refusal } = tokens?.state ?? {};
        throw refusal === undefined ? await notSignedIn() : signInNeeded(refusal.problem);
      }
      const { idToken = "", subject, clientId } = held.record;
      if (isExpired(held.record, context.clock.now())) throw signInNeeded("the identity token expired.");
      const { tokenEndpoint } = await found.authorizationServer(issuer);
      return {
        provider: { tokenEndpoint: tokenEndpoint.href, issuer, client: { clientId, clientSecret } },
        idToken,
        subject,
      };
    },
    async status() {
      const held = await (await (await storedLogin())?.tokens())?.reload();
      return held && statusOf(held.record);
    },
    async signOut() {
      const report = await (await storedLogin())?.signOut();
      await removeTokensOf(context, grant);
      return report !== undefined && report.wiped.length > 0;
    },
  };
}
