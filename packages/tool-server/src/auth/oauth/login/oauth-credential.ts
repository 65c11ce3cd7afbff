import { setMaxListeners } from "node:events";
import type { CredentialDescription, OAuthDescription } from "../../../connection-info.js";
import { ToolServerError } from "../../../errors.js";
import { isTenantHeader } from "../../../secrets/recognize-secrets.js";
import {
  type Credential,
  credentialClosed,
  giveUp,
  isRefusal,
  type Refusal,
  type RefusalDecision,
  statusText,
} from "../../credentials/credential.js";
import {
  createHeaderFields,
  describeHeader,
  type HeaderFields,
  type HeaderSource,
  mergeHeaderFields,
} from "../../credentials/header-fields.js";
import { parseResourceChallenge } from "../discovery/resource-challenge.js";
import type { HeldToken } from "../login-store.js";
import type { Ask } from "../sign-in/ask.js";
import { createProof, proofKeyOf } from "../tokens/proof-key.js";
import type { OAuthLogin } from "./oauth-login.js";
import { createRefusalPolicy, maxNonces } from "./refusal-policy.js";

/** Options of an OAuth credential. */
export interface OAuthCredentialOptions {
  /** Shared with others that sign in or out; it is not closed with the credential. */
  readonly session: OAuthLogin;
  /** Asks a user who is waiting to sign in. Default: never, and no browser opens. */
  readonly signIn?: Ask | undefined;
  /** The command with which a user signs in, for errors; false if there is none. Default: `wirescope login` and the name of the server. */
  readonly login?: string | false | undefined;
  /** Other headers of the entry, such as one that selects a tenant; not Authorization. */
  readonly headers?: readonly HeaderSource[] | undefined;
}

/**
 * Authenticates with OAuth. Requests are sent with the session's token, renewed before it expires; without one they are sent without a
 * credential, and the server decides whether that is enough. After a 401 the token is renewed once; if that fails, or if a scope is missing, the user
 * is asked to sign in, if `signIn` is given. Tokens that are bound to a key are sent with a new proof, and therefore in a new object,
 * each time.
 *
 * Throws as `createHeaderFields` does, and a TypeError if a header is Authorization. Its headers reject if a renewal failed for a
 * transient reason: SERVER_UNREACHABLE, SERVER_FAILED, TOKEN_REFUSED, or an error of the vault.
 */
export function createOAuthCredential(options: OAuthCredentialOptions): Credential {
  const { session, headers: sources = [] } = options;
  const { context } = session;
  const { server } = context;
  if (sources.some(({ name }) => /^(authorization|dpop)$/i.test(name))) {
    throw new TypeError("An entry that uses OAuth cannot have an Authorization header.");
  }
  const fixed = createHeaderFields(sources, `The headers of the server ${JSON.stringify(server)}`);
  const keyHeaders = sources.filter(({ name, variables }) => variables?.length && !isTenantHeader(name));
  const keyNames = keyHeaders.map(({ name }) => name);
  const decideByPolicy = createRefusalPolicy(session, options.signIn, options.login, keyNames);
  const tokensByHeaders = new WeakMap<HeaderFields, HeldToken>();
  const life = new AbortController();
  // Each running request listens to it.
  setMaxListeners(0, life.signal);
  const running = new Set<Promise<unknown>>();
  let bearer: { readonly revision: string; readonly fields: HeaderFields } | undefined;
  let nonce: string | undefined;

  const fieldsOf = (sent: readonly HeaderSource[], token: HeldToken): HeaderFields => {
    const own = createHeaderFields(sent, `The token of the server ${JSON.stringify(server)}`);
    const fields = mergeHeaderFields(fixed, own);
    tokensByHeaders.set(fields, token);
    return fields;
  };

  const boundFields = async (token: HeldToken, method: string, url: URL): Promise<HeaderFields> => {
    const { accessToken, tokenType, proofKey } = token.record;
    const key = proofKey === undefined ? undefined : await proofKeyOf(context, proofKey);
    const proof = key === undefined ? undefined : await createProof(context, key, { method, url, nonce, accessToken });
    const authorization = { name: "Authorization", value: `${tokenType} ${accessToken}` };
    return fieldsOf(proof === undefined ? [authorization] : [authorization, { name: "DPoP", value: proof }], token);
  };

  const bearerFields = (token: HeldToken): HeaderFields => {
    if (bearer?.revision !== token.revision) {
      const value = `Bearer ${token.record.accessToken}`;
      bearer = { revision: token.revision, fields: fieldsOf([{ name: "Authorization", value }], token) };
    }
    return bearer.fields;
  };

  /** Runs a task that `dispose` aborts and waits for. */
  const runTask = async <T>(signal: AbortSignal | undefined, task: (signal: AbortSignal) => Promise<T>): Promise<T> => {
    if (life.signal.aborted) throw credentialClosed(server);
    signal?.throwIfAborted();
    // Not AbortSignal.any: it would stay referenced by a long-lived signal.
    const both = new AbortController();
    const stop = (): void => both.abort(signal?.reason);
    const end = (): void => both.abort(life.signal.reason);
    signal?.addEventListener("abort", stop, { once: true });
    life.signal.addEventListener("abort", end, { once: true });
    const work = task(both.signal);
    const settled = work.catch(() => undefined);
    running.add(settled);
    try {
      return await work;
    } finally {
      running.delete(settled);
      signal?.removeEventListener("abort", stop);
      life.signal.removeEventListener("abort", end);
    }
  };

  const decide = async (refusal: Refusal, signal: AbortSignal): Promise<RefusalDecision> => {
    const { status, sent, attempt, dpopNonce } = refusal;
    const challenge = parseResourceChallenge(refusal.challenge);
    const token = tokensByHeaders.get(sent);
    if (challenge.error === "use_dpop_nonce" && dpopNonce !== undefined && token?.record.tokenType === "DPoP") {
      const isNew = nonce !== dpopNonce;
      nonce = dpopNonce;
      if (isNew && attempt <= maxNonces) return { action: "retry" };
      return giveUp(`${statusText(status)}: the server demands a DPoP nonce, and rejects the one that it sent.`);
    }
    return decideByPolicy({ status, attempt, challenge, token }, signal);
  };

  return {
    kind: "oauth",
    headers: (request) =>
      runTask(request?.signal, async (signal) => {
        const tokens = await session.tokens().catch((error: unknown) => {
          // A server without a sign-in works without the vault; any other refuses the request, and then this error is reported.
          if (ToolServerError.is(error, "VAULT_KEY_WRONG")) return undefined;
          throw error;
        });
        const token = await tokens?.current(signal);
        if (token === undefined) return fixed;
        if (token.record.tokenType === "DPoP") {
          return boundFields(token, request?.method ?? "POST", request?.url ?? context.url);
        }
        return bearerFields(token);
      }),
    // For most requests: avoids a promise and a signal for each.
    headersNow() {
      if (life.signal.aborted) throw credentialClosed(server);
      const token = session.cachedToken();
      if (token === null) return fixed;
      return token === undefined || token.record.tokenType === "DPoP" ? undefined : bearerFields(token);
    },
    environment: () => ({}),
    async refused(refusal) {
      if (!isRefusal(refusal.status)) return giveUp(`HTTP ${refusal.status} does not concern the credential.`);
      if (life.signal.aborted) return giveUp("The credential was disposed of.");
      return runTask(refusal.signal, (signal) => decide(refusal, signal));
    },
    describe(): CredentialDescription {
      const oauth = session.describe();
      const scheme = oauth.tokenType;
      const own = oauth.isSignedIn ? [{ name: "Authorization", from: "oauth", scheme, variables: [] } as const] : [];
      // Before the vault was read, the state is unknown: "not signed in" would be a guess.
      const isKnown = oauth.isSignedIn || session.cachedToken() !== undefined;
      return {
        kind: "oauth",
        summary: isKnown ? oauthSummary(oauth) : "OAuth",
        headers: [
          ...sources.map(({ name, value, variables }) => describeHeader(name, value, "configuration", variables)),
          ...own,
        ],
        environment: [],
        oauth,
      };
    },
    async dispose() {
      life.abort(credentialClosed(server));
      await Promise.all(running);
    },
  };
}

/** The state of an OAuth sign-in, in one line. */
export function oauthSummary({ isSignedIn, issuer }: Pick<OAuthDescription, "isSignedIn" | "issuer">): string {
  return `OAuth, ${isSignedIn ? "signed in" : "not signed in"}${issuer === undefined ? "" : ` with ${issuer}`}`;
}
