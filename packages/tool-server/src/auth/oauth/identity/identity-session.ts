import { randomBytes } from "node:crypto";
import type { Configuration, CustomFetch, TokenEndpointResponse, TokenEndpointResponseHelpers } from "openid-client";
import { commandLine } from "../../../command-line.js";
import { messageOf, ToolServerError } from "../../../errors.js";
import { type JsonObject, stringOf } from "../../../json-object.js";
import type { VaultKey } from "../../vault/vault.js";
import type { OAuthContext } from "../oauth-context.js";
import { oauthFailure, peerText, urlText } from "../oauth-errors.js";
import { endpointDefect, parseEndpoint } from "../requests/endpoint-rules.js";
import { isTransientStatus, sendOAuthRequest } from "../requests/oauth-request.js";
import { contextOf, type OAuthSessionOptions } from "../session/session-options.js";
import { withTimeLimit } from "../session/session-sign-in.js";
import { parsePastedRedirect } from "../sign-in/authorization-code.js";
import { waitForRedirect } from "../sign-in/browser-sign-in.js";
import { openCallbackReceiver, type RedirectOptions } from "../sign-in/callback-receiver.js";
import type { SignIn, SignInRequest } from "../sign-in/sign-in.js";
import { grantName, type Identity } from "../tokens/machine-grant.js";
import { removeTokensOf, tokenLockWaitMs } from "../tokens/token-store.js";

/** The identity provider of an organization, and where a user's sign-in with it is stored. */
export interface IdentitySessionOptions
  extends Pick<
    OAuthSessionOptions,
    "vault" | "http" | "secrets" | "clock" | "limits" | "allowInsecureLoopback" | "log" | "profile"
  > {
  /** Its issuer, exactly as published. */
  readonly issuer: string;
  /** The client that is registered there. Default: that of the stored sign-in. */
  readonly clientId?: string | undefined;
  readonly clientSecret?: string | undefined;
  readonly redirect?: RedirectOptions | undefined;
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
export interface IdentitySession {
  /**
   * Lets a user sign in, and stores the identity token. Rejects with SIGN_IN_FAILED, AUTHORIZATION_SERVER_INVALID, SERVER_UNREACHABLE,
   * SERVER_FAILED and vault errors.
   */
  signIn(person: SignIn, signal: AbortSignal): Promise<IdentityStatus>;
  /** A valid identity token, renewed if required. Rejects with SIGN_IN_NEEDED if a user has to sign in. */
  identity(): Promise<Identity>;
  /** The stored sign-in; undefined if there is none. */
  status(): Promise<IdentityStatus | undefined>;
  /** Deletes the stored tokens, and those of servers that were obtained with them; resolves with whether the user was signed in. */
  signOut(): Promise<boolean>;
}

interface IdentityRecord extends IdentityStatus {
  readonly idToken: string;
  readonly refreshToken: string | undefined;
  readonly tokenEndpoint: string;
  /** The subject of the token (`sub`). */
  readonly subject: string;
}

/** Tokens are renewed this long before they expire, because requests take time and clocks differ. */
const renewBeforeMs = 60_000;
/** The last time that is a date; a later expiry is not believed. */
const maxSeconds = 8.64e12;
/** `offline_access` requests a refresh token: without one, a user has to sign in again when the identity token expires. */
const scopes = ["openid", "email", "offline_access"];

/** Opens the sign-in of a user with an identity provider. Sends nothing yet. Throws a TypeError if the issuer is invalid. */
export function createIdentitySession(options: IdentitySessionOptions): IdentitySession {
  const { issuer, vault, clientSecret, profile } = options;
  const context = contextOf({ ...options, server: issuer, url: issuer, issuer });
  const { clock, secrets } = context;
  if (clientSecret !== undefined) secrets.add(clientSecret);
  const url = parseEndpoint(issuer, context);
  if (typeof url === "string") throw new TypeError(`The issuer of the identity provider is invalid: ${url}.`);
  const key: VaultKey = { profile, server: "", resource: url.href, issuer, tenant: "", item: "identity" };

  const read = async (): Promise<{ record: IdentityRecord; revision: string } | undefined> => {
    const entry = await vault.get(key);
    const record = entry === undefined ? undefined : recordOf(entry.value);
    if (entry === undefined || record === undefined) return undefined;
    for (const secret of [record.idToken, record.refreshToken]) if (secret !== undefined) secrets.add(secret);
    return { record, revision: entry.revision };
  };
  const write = async (record: IdentityRecord): Promise<IdentityRecord> => {
    for (const secret of [record.idToken, record.refreshToken]) if (secret !== undefined) secrets.add(secret);
    await vault.put(key, { ...record, account: record.account ?? null, refreshToken: record.refreshToken ?? null });
    return record;
  };
  const grant = grantName({ kind: "enterprise", url: issuer });
  const isValid = ({ expiresAt }: IdentityRecord): boolean => expiresAt - renewBeforeMs > clock.now();
  const sameProfile = profile === "default" ? [] : ["--profile", profile];
  const sameRules = url.protocol === "http:" ? ["--allow-insecure-loopback"] : [];
  const adviceWith = (client: readonly string[]): string =>
    `Sign in with: ${commandLine("login", "--idp", issuer, ...client, ...sameRules, ...sameProfile)}`;
  const signInAdvice = adviceWith([]);
  const signInNeeded = (problem: string, advice = signInAdvice): ToolServerError =>
    oauthFailure(context, "SIGN_IN_NEEDED", { problem, advice });
  // Only a stored sign-in has a client id.
  const notSignedIn = (): ToolServerError => {
    const advice = adviceWith(["--client-id", options.clientId ?? "…"]);
    return signInNeeded("you are not signed in to this identity provider.", advice);
  };

  const renew = async (record: IdentityRecord): Promise<IdentityRecord> => {
    if (record.refreshToken === undefined) throw signInNeeded("the identity token expired.");
    const refreshToken = record.refreshToken;
    const { client, config } = await configure(context, url, record.clientId, clientSecret, signInAdvice);
    const tokens = await convertErrors(context, signInAdvice, () => client.refreshTokenGrant(config, refreshToken));
    const renewed = recordFrom(tokens, { ...record, refreshToken: tokens.refresh_token ?? refreshToken });
    if (renewed === undefined) throw signInNeeded("the identity provider renewed no identity token.");
    // OpenID Connect Core, section 12.2: a renewed token must have the same subject.
    if (renewed.subject !== record.subject)
      throw signInNeeded("the identity provider renewed the token of another user.");
    return write(renewed);
  };

  const renewLatest = async (): Promise<IdentityRecord> => {
    const latest = await read();
    if (latest === undefined) throw notSignedIn();
    return isValid(latest.record) ? latest.record : renew(latest.record);
  };
  // A renewal takes up to 40 s: the metadata, and the token endpoint.
  const wait = { waitMs: tokenLockWaitMs };

  return {
    async signIn(person, signal) {
      const clientId = options.clientId ?? (await read())?.record.clientId;
      if (clientId === undefined) {
        const advice = "Register a client for Wirescope with the identity provider, and pass its id with --client-id.";
        throw oauthFailure(context, "SIGN_IN_FAILED", { problem: "no client id is known for it.", advice });
      }
      const { client, config } = await configure(context, url, clientId, clientSecret, signInAdvice);
      const receiver = await openCallbackReceiver(context, options.redirect ?? {}, (text) => person.notify?.(text));
      try {
        const verifier = client.randomPKCECodeVerifier();
        const [state, nonce] = [randomBytes(32).toString("base64url"), randomBytes(32).toString("base64url")];
        secrets.add(verifier);
        const page = client.buildAuthorizationUrl(config, {
          redirect_uri: receiver.redirectUri,
          scope: scopes.join(" "),
          code_challenge: await client.calculatePKCECodeChallenge(verifier),
          code_challenge_method: "S256",
          state,
          nonce,
        });
        // A browser opens it, like the page of any authorization server.
        const defect = endpointDefect(page, context);
        if (defect !== undefined) {
          throw oauthFailure(context, "AUTHORIZATION_SERVER_INVALID", {
            problem: `its authorization endpoint ${urlText(context, page)} cannot be used: ${defect}.`,
            advice: "Report this to the operator of the identity provider.",
          });
        }
        const request: SignInRequest = {
          server: issuer,
          issuer,
          reason: "asked",
          scopes,
          newScopes: [],
          way: { kind: "browser", url: page.href, redirectUri: receiver.redirectUri },
          vault: vault.describe(),
        };
        const response = await withTimeLimit(context, signal, (limited) =>
          waitForUser(context, () => waitForRedirect(person, request, receiver, state, limited), limited),
        );
        const parameters =
          typeof response === "string" ? parsePastedRedirect(context, response, receiver.redirectUri) : response;
        const redirected = new URL(receiver.redirectUri);
        redirected.search = parameters.toString();
        const code = parameters.get("code");
        if (code !== null) secrets.add(code);
        const tokens = await convertErrors(context, signInAdvice, () =>
          client.authorizationCodeGrant(config, redirected, {
            pkceCodeVerifier: verifier,
            expectedState: state,
            expectedNonce: nonce,
            idTokenExpected: true,
          }),
        );
        const { token_endpoint: tokenEndpoint = "" } = config.serverMetadata();
        const record = recordFrom(tokens, { issuer, clientId, tokenEndpoint, refreshToken: tokens.refresh_token });
        if (record === undefined) throw new TypeError("The token response has no identity token.");
        // A renewal that runs must not overwrite this sign-in.
        await vault.withLock(key, () => write(record), wait);
        // Servers must not act for the user who was signed in before.
        await removeTokensOf(vault, profile, grant, record.subject);
        await receiver.finish({ returnTo: person.returnTo });
        return statusOf(record);
      } catch (failure) {
        await receiver.finish({ failure, returnTo: person.returnTo });
        throw failure;
      } finally {
        await receiver.close();
      }
    },
    async identity() {
      const stored = await read();
      if (stored === undefined) throw notSignedIn();
      const record = isValid(stored.record) ? stored.record : await vault.withLock(key, renewLatest, wait);
      const { tokenEndpoint, clientId, idToken, subject } = record;
      return { provider: { tokenEndpoint, issuer, client: { clientId, clientSecret } }, idToken, subject };
    },
    async status() {
      const stored = await read();
      return stored && statusOf(stored.record);
    },
    async signOut() {
      // A renewal that runs would store its tokens after the deletion.
      const remove = async (): Promise<boolean> => {
        const stored = await read();
        return stored !== undefined && vault.deleteIf(key, stored.revision);
      };
      const isDeleted = await vault.withLock(key, remove, wait);
      await removeTokensOf(vault, profile, grant);
      return isDeleted;
    },
  };
}

interface Configured {
  readonly client: typeof import("openid-client");
  readonly config: Configuration;
}

/** Reads the provider's metadata. openid-client is loaded only if it is used. */
async function configure(
  context: OAuthContext,
  issuer: URL,
  clientId: string,
  clientSecret: string | undefined,
  signInAdvice: string,
): Promise<Configured> {
  const client = await import("openid-client");
  const authentication = clientSecret === undefined ? client.None() : client.ClientSecretPost(clientSecret);
  const config = await convertErrors(context, signInAdvice, () =>
    client.discovery(issuer, clientId, undefined, authentication, {
      [client.customFetch]: fetchThrough(context),
      execute: context.allowInsecureLoopback ? [client.allowInsecureRequests] : [],
    }),
  );
  return { client, config };
}

/** Sends the requests of openid-client with our client: with its proxy, certificates and limits, visible in Channelz. */
function fetchThrough(context: OAuthContext): CustomFetch {
  return async (url, { method, headers, body }) => {
    const response = await sendOAuthRequest(context, {
      method: method === "POST" ? "POST" : "GET",
      url: new URL(url),
      headers: Object.fromEntries(Object.entries(headers).filter(([, value]) => value !== undefined)),
      body: body === undefined || body === null ? undefined : String(body),
      requested: "a sign-in with the identity provider",
      limitMs: method === "POST" ? context.limits.tokenMs : undefined,
    });
    const { status } = response;
    // Not a refusal, so a valid access token stays in use, and the next attempt may succeed.
    if (isTransientStatus(status)) {
      const parts = { problem: `the identity provider failed (status ${status}).`, advice: "Try again later." };
      throw oauthFailure(context, "SERVER_FAILED", parts, { details: { status } });
    }
    const hasBody = status !== 204 && status !== 304;
    return new Response(hasBody ? response.body : null, { status, headers: response.headers });
  };
}

/** Runs a step of openid-client, and converts its errors to ours. */
async function convertErrors<T>(context: OAuthContext, signInAdvice: string, step: () => Promise<T>): Promise<T> {
  try {
    return await step();
  } catch (error) {
    if (ToolServerError.is(error) || !(error instanceof Error)) throw error;
    // Our own errors come back as the cause of openid-client's.
    for (let cause: unknown = error; cause instanceof Error; cause = cause.cause)
      if (ToolServerError.is(cause)) throw cause;
    const { error: code, error_description: description } = error as { error?: unknown; error_description?: unknown };
    const said = [code, description].filter((part) => typeof part === "string").join(": ");
    const needsSignIn = code === "invalid_grant" || code === "interaction_required" || code === "login_required";
    const problem = `the identity provider refused: ${peerText(context, said || error.message)}.`;
    const advice = needsSignIn
      ? signInAdvice
      : "Check the issuer and the client id, and that the redirect http://127.0.0.1/callback is registered for it.";
    const parts = { problem, advice };
    throw oauthFailure(context, needsSignIn ? "SIGN_IN_NEEDED" : "SIGN_IN_FAILED", parts, { cause: error });
  }
}

/** Waits for the user; errors that are not ours become SIGN_IN_FAILED. */
async function waitForUser<T>(context: OAuthContext, wait: () => Promise<T>, signal: AbortSignal): Promise<T> {
  try {
    return await wait();
  } catch (error) {
    signal.throwIfAborted();
    if (ToolServerError.is(error)) throw error;
    const why = messageOf(error);
    const parts = { problem: `the sign-in failed: ${why}`, advice: "Sign in again." };
    throw oauthFailure(context, "SIGN_IN_FAILED", parts, { cause: error });
  }
}

type Tokens = TokenEndpointResponse & TokenEndpointResponseHelpers;

/** The record of a token response; undefined if it has no identity token. */
function recordFrom(
  tokens: Tokens,
  known: Pick<IdentityRecord, "issuer" | "clientId" | "tokenEndpoint" | "refreshToken">,
): IdentityRecord | undefined {
  const claims = tokens.claims();
  if (tokens.id_token === undefined || claims === undefined) return undefined;
  const { issuer, clientId, tokenEndpoint, refreshToken } = known;
  return {
    issuer,
    clientId,
    tokenEndpoint,
    refreshToken,
    idToken: tokens.id_token,
    subject: claims.sub,
    account: [claims.email, claims.name, claims.sub].find((each) => typeof each === "string"),
    expiresAt: claims.exp <= maxSeconds ? claims.exp * 1000 : 0,
    isRenewable: refreshToken !== undefined,
  };
}

function recordOf(value: JsonObject): IdentityRecord | undefined {
  const text = (name: string): string => stringOf(value[name]) ?? "";
  const required = {
    issuer: text("issuer"),
    clientId: text("clientId"),
    idToken: text("idToken"),
    tokenEndpoint: text("tokenEndpoint"),
    subject: text("subject"),
  };
  if (Object.values(required).includes("")) return undefined;
  const refreshToken = stringOf(value.refreshToken);
  return {
    ...required,
    refreshToken,
    account: stringOf(value.account),
    expiresAt: typeof value.expiresAt === "number" ? value.expiresAt : 0,
    isRenewable: refreshToken !== undefined,
  };
}

function statusOf({ issuer, clientId, account, expiresAt, isRenewable }: IdentityRecord): IdentityStatus {
  return { issuer, clientId, account, expiresAt, isRenewable };
}
