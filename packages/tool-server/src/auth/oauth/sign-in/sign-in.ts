import { randomBytes } from "node:crypto";
import { untilAborted } from "../../../clock.js";
import { commandLine } from "../../../command-line.js";
import { ToolServerError } from "../../../errors.js";
import type { Vault } from "../../vault/vault.js";
import type { ClientStore } from "../clients/client-store.js";
import { type Discovery, discover, issuerChanged } from "../discovery/discover.js";
import { knownIssuer, requestRules } from "../discovery/known-issuers.js";
import type { AuthorizationServer } from "../discovery/metadata.js";
import type { ResourceChallenge } from "../discovery/resource-challenge.js";
import { scopesBeyond, selectScopes, unionOf } from "../discovery/scopes.js";
import {
  type HeldToken,
  isExpired,
  type LoginItem,
  type LoginStore,
  scopesOf,
  type TokenRecord,
  vaultKeyOf,
} from "../login-store.js";
import type { OAuthContext } from "../oauth-context.js";
import { oauthFailure, peerText } from "../oauth-errors.js";
import type { SetEnding } from "../oauth-log.js";
import { createProofKey, proofKeyToJson } from "../tokens/proof-key.js";
import type { TokenManager } from "../tokens/token-manager.js";
import { tokensOf } from "../tokens/token-request.js";
import type { Ask, SignInReason } from "./ask.js";
import type { AttemptResult, SignInAttempt, UserReply } from "./attempt.js";
import { signInByBrowser } from "./authorization-code.js";
import { signInByDevice } from "./device.js";
import { loopback } from "./loopback.js";

/** Options of one sign-in. */
export interface SignInOptions {
  /** What the tool server requires. Default: found out with a request without a token. */
  readonly challenge?: ResourceChallenge | undefined;
  /** Scopes to request in addition to those that the server names. */
  readonly scopes?: readonly string[] | undefined;
  /** Default "asked": a user is always asked; otherwise not if another process has signed in meanwhile. */
  readonly reason?: SignInReason | undefined;
  /** Default: with a browser, unless the authorization server supports only devices. */
  readonly way?: "browser" | "device" | undefined;
  /** The refused token. */
  readonly refused?: HeldToken | undefined;
  /** The page on which the user started it. The last page of a sign-in with a browser has a link to it. Default: none. */
  readonly returnTo?: string | undefined;
  /** Whether it stops before it registers a client or asks a user, with SIGN_IN_NEEDED. What would follow is reported as planned. Default false. */
  readonly isDryRun?: boolean | undefined;
}

/** The parts of a login that a sign-in uses. */
export interface SignInParts {
  readonly context: OAuthContext;
  readonly clients: ClientStore;
  readonly store: LoginStore;
  /** The tokens of the issuer that is pinned. */
  readonly tokens: (options: { readonly isFresh: boolean }) => Promise<TokenManager | undefined>;
  /** The tokens of an issuer, which becomes the one in use. */
  readonly tokensOf: (issuer: string) => TokenManager;
}

/**
 * Lets a user sign in: from the discovery of the authorization server to the stored token. A dead client repeats it once.
 *
 * Rejects with SIGN_IN_FAILED, ISSUER_CHANGED, AUTHORIZATION_ORIGIN_UNCONFIRMED, AUTHORIZATION_SERVER_INVALID, REGISTRATION_REFUSED or
 * TOKEN_REFUSED.
 */
export async function signIn(
  parts: SignInParts,
  ask: Ask,
  options: SignInOptions,
  signal: AbortSignal,
  setEnding: SetEnding,
): Promise<HeldToken> {
  const { context, clients, store, tokens } = parts;
  const { settings, vault, clock, log } = context;
  const { reason = "asked", refused } = options;
  if (reason !== "asked") {
    const other = await (await tokens({ isFresh: true }))?.reload();
    if (other !== undefined && isEnough(context, other, refused, options.challenge)) {
      setEnding({ outcome: "adopted" });
      return other;
    }
  }
  const setAside = (item: LoginItem, issuer = ""): Promise<void> =>
    vault.withLock(vaultKeyOf(context, issuer, item), (entry) => entry.quarantine());
  // A sign-in replaces damaged entries; otherwise it would always fail.
  const pin = await readable(
    () => store.readPin(),
    () => setAside("issuer"),
  );
  const discovery = await discover(context, { challenge: options.challenge, knownIssuer: pin?.issuer, signal });
  if (discovery.failure !== undefined) throw discovery.failure;
  const { server, challenge } = discovery;
  await confirmIssuer(context, discovery, ask, signal);
  const known = pin?.issuer === server.issuer ? pin : undefined;
  const confirmed = new Set(known?.confirmedOrigins);
  const manager = parts.tokensOf(server.issuer);
  const stored = (await readable(() => manager.reload()))?.record;
  const before = refused?.record ?? stored;
  const previousScopes = before?.requestedScopes ?? known?.requestedScopes ?? [];
  await readable(
    () => vault.get(vaultKeyOf(context, server.issuer, "client")),
    () => setAside("client", server.issuer),
  );
  const selected = selectScopes({
    challenged: challenge.scopes,
    isStepUp: reason === "step-up",
    configured: settings.scopes ?? [],
    resourceScopes: discovery.resourceScopes,
    previous: discovery.changedFrom === undefined ? previousScopes : [],
    server,
  });
  const scopes = unionOf(selected, options.scopes ?? []);
  const wanted = unionOf(challenge.scopes, options.scopes ?? []);
  const isBound = settings.bindsTokens === true || discovery.bindsTokens || challenge.requiresProof;
  const key = isBound ? await createProofKey(context) : undefined;
  log.note(
    "asking",
    `Asking the user to sign in with ${server.issuer}, scopes: ${scopes.join(" ") || "chosen by the server"}.`,
  );
  const prompt = {
    server: context.server,
    issuer: server.issuer,
    tokenOrigin: tokenOriginOf(server),
    reason,
    scopes,
    newScopes: scopesBeyond(previousScopes, scopes),
    vault: vault.describe(),
  };
  const attempt: SignInAttempt = {
    context,
    server,
    clients,
    rules: requestRules(server, discovery.resource, settings),
    scopes,
    key,
    nonce: context.isIdentityProvider ? randomBytes(32).toString("base64url") : undefined,
    redirector: ask.redirector ?? loopback,
    returnTo: options.returnTo,
    isDryRun: options.isDryRun ?? false,
    signal,
    confirmOrigin: (page) => confirmOrigin(context, server, page, ask, confirmed, signal),
    waitForUser: (way, replied) =>
      waitForUser(context, signal, {
        show: (over) => ask.show({ ...prompt, way }, over),
        replied,
        signedInElsewhere: (over) =>
          watchTokens(vault, manager, over, (record) => {
            const isNew = record.signedInAt !== undefined && record.signedInAt !== stored?.signedInAt;
            return isNew && scopesBeyond(record.requestedScopes, wanted).length === 0;
          }),
      }),
  };
  const isDeviceOnly = server.authorizationEndpoint === undefined && server.deviceEndpoint !== undefined;
  const result = await attemptTwice(attempt, options.way ?? (isDeviceOnly ? "device" : "browser"));
  if (result === undefined) {
    throw oauthFailure(context, "SIGN_IN_NEEDED", {
      problem: "the flow stopped before the sign-in, as requested.",
      advice: `Sign in with: ${commandLine("login", context.server)}`,
    });
  }
  if ("held" in result) {
    setEnding({ outcome: "adopted", text: "Another process has signed in." });
    return result.held;
  }
  const record = {
    ...tokensOf(result.outcome),
    clientId: result.client.clientId,
    resource: discovery.resource,
    requestedScopes: scopes,
    proofKey: key && proofKeyToJson(key),
    signedInAt: clock.now(),
  };
  await store.writePin({
    issuer: server.issuer,
    confirmedOrigins: [...confirmed],
    requestedScopes: scopes,
    isPublished: server.isAssumed ? undefined : true,
  });
  const held = await manager.save(record);
  setEnding({ outcome: "done", text: doneText(record) });
  return held;
}

/** A registration that turns out to be dead is replaced, and the user is asked once more. */
async function attemptTwice(attempt: SignInAttempt, way: "browser" | "device"): Promise<AttemptResult> {
  const run = way === "browser" ? signInByBrowser : signInByDevice;
  const first = await run(attempt);
  if (first === undefined || "held" in first) return first;
  const { client, outcome } = first;
  if (outcome.kind !== "refused" || outcome.error !== "invalid_client") return first;
  return (await attempt.clients.drop(attempt.server, client)) ? run(attempt) : first;
}

interface Waits<T> {
  /** Resolves with the address that the user pasted, if any. */
  show(signal: AbortSignal): Promise<string | undefined>;
  replied(signal: AbortSignal, pasted: Promise<string>): Promise<T>;
  signedInElsewhere(signal: AbortSignal): Promise<HeldToken>;
}

async function waitForUser<T>(
  context: OAuthContext,
  signal: AbortSignal,
  { show, replied, signedInElsewhere }: Waits<T>,
): Promise<UserReply<T>> {
  const { clock, limits } = context;
  signal.throwIfAborted();
  const over = new AbortController();
  const both = AbortSignal.any([signal, over.signal]);
  const cancelTimer = clock.after(limits.signInMs, () => {
    const problem = `the sign-in was not completed within ${limits.signInMs / 1000} s.`;
    const advice = "Sign in again; if the browser cannot reach this machine, paste the address of its last page.";
    over.abort(oauthFailure(context, "SIGN_IN_FAILED", { problem, advice }));
  });
  // Only a pasted address ends the wait; showing the page does not.
  const pasted = show(both).then((address) => address ?? new Promise<never>(() => undefined));
  const waits = [
    replied(both, pasted).then((reply): UserReply<T> => ({ reply })),
    signedInElsewhere(both).then((held): UserReply<T> => ({ held })),
    pasted.then(() => new Promise<never>(() => undefined)),
  ];
  for (const wait of waits) wait.catch(() => undefined);
  try {
    return await untilAborted(Promise.race(waits), both);
  } finally {
    cancelTimer();
    over.abort(new DOMException("The sign-in has ended.", "AbortError"));
  }
}

/** Resolves with the first tokens that another process stores and that are accepted. */
function watchTokens(
  vault: Vault,
  manager: TokenManager,
  signal: AbortSignal,
  accepts: (record: TokenRecord) => boolean,
): Promise<HeldToken> {
  return new Promise((resolve) => {
    const stop = vault.watch(async () => {
      // The next caller that needs the token reports that it cannot be read.
      const found = await manager.reload().catch(() => undefined);
      if (found !== undefined && accepts(found.record)) resolve(found);
    });
    signal.addEventListener("abort", stop, { once: true });
  });
}

/** Reads the vault; undefined if the entry is damaged, after `onDamaged`. */
async function readable<T>(read: () => Promise<T>, onDamaged?: () => Promise<void>): Promise<T | undefined> {
  try {
    return await read();
  } catch (error) {
    if (!ToolServerError.is(error, "VAULT_UNREADABLE")) throw error;
    await onDamaged?.();
    return undefined;
  }
}

/** Whether a token differs from the refused one, has not expired, and has the required scopes. */
function isEnough(
  { clock }: OAuthContext,
  { record, revision }: HeldToken,
  refused: HeldToken | undefined,
  challenge: ResourceChallenge | undefined,
): boolean {
  if (revision === refused?.revision || isExpired(record, clock.now())) return false;
  return scopesBeyond(scopesOf(record), challenge?.scopes ?? []).length === 0;
}

async function confirmIssuer(
  context: OAuthContext,
  { changedFrom: from, server: { issuer: to } }: Discovery,
  ask: Ask,
  signal: AbortSignal,
): Promise<void> {
  // The user configured it.
  if (from === undefined || context.settings.issuer === to) return;
  const failure = issuerChanged(context, from, to);
  if (!(await ask.confirm?.({ kind: "issuer", server: context.server, from, to }, signal))) throw failure;
}

/** The origin of the token endpoint, if it is not that of the issuer. */
function tokenOriginOf({ issuer, tokenEndpoint }: AuthorizationServer): string | undefined {
  return tokenEndpoint.origin === new URL(issuer).origin ? undefined : tokenEndpoint.origin;
}

/**
 * Lets a user decide about a sign-in page that is not at the issuer's own origin. A hostile authorization server can
 * name the page of an honest one: the user signs in there in good faith, and the hostile server gets the result (OAuth 2.0
 * Security Best Current Practice, RFC 9700, section 4.4). `confirmed` are the origins that the user confirmed; new ones are
 * added.
 */
async function confirmOrigin(
  context: OAuthContext,
  authorizationServer: AuthorizationServer,
  { origin }: URL,
  ask: Ask,
  confirmed: Set<string>,
  signal: AbortSignal,
): Promise<void> {
  const { issuer } = authorizationServer;
  const { server, settings } = context;
  // The user configured the authorization server, and so trusts its metadata.
  if (settings.issuer !== undefined || origin === new URL(issuer).origin || confirmed.has(origin)) return;
  if (knownIssuer(issuer)?.pages?.includes(origin)) return;
  const tokenOrigin = tokenOriginOf(authorizationServer);
  const foreignOrigin = { issuer, origin, ...(tokenOrigin && { tokenOrigin }) };
  if (!(await ask.confirm?.({ kind: "origin", server, ...foreignOrigin }, signal))) {
    const tokens = tokenOrigin === undefined ? "" : ` Tokens would be requested from ${tokenOrigin}.`;
    const problem = `its authorization server ${peerText(context, issuer)} asks you to sign in at another origin, ${origin}, which you have not confirmed.${tokens} A hostile server does this to get access to your account at ${origin}.`;
    const advice = `If you know that both belong together, confirm it: ${commandLine("login", server, "--authorization-origin", origin)}`;
    throw oauthFailure(
      context,
      "AUTHORIZATION_ORIGIN_UNCONFIRMED",
      { problem, advice },
      { details: { foreignOrigin } },
    );
  }
  confirmed.add(origin);
}

function doneText({ identity, expiresAt, refreshToken, requestedScopes }: TokenRecord): string {
  const account = identity === undefined ? "" : ` as ${identity}`;
  const until = expiresAt === undefined ? "" : ` The token expires at ${new Date(expiresAt).toISOString()}.`;
  const advice = requestedScopes.includes("offline_access")
    ? ' If the server issues one only after a new consent, set "prompt": "consent" in its OAuth settings.'
    : "";
  const renewal =
    refreshToken === undefined ? ` There is no refresh token, so it is used until the server rejects it.${advice}` : "";
  return `Signed in${account}.${until}${renewal}`;
}
