import { sleep } from "../../../clock.js";
import { stringOf } from "../../../json-object.js";
import { chooseClient } from "../clients/choose-client.js";
import { authenticateClient, type OAuthClient } from "../clients/oauth-client.js";
import { deviceGrant } from "../clients/register-client.js";
import type { OAuthContext } from "../oauth-context.js";
import { isTransientFailure, oauthFailure, peerText } from "../oauth-errors.js";
import { requestStep } from "../oauth-step.js";
import { parseEndpoint } from "../requests/endpoint-rules.js";
import {
  formRequest,
  isTransientStatus,
  type OAuthResponse,
  peerErrorOf,
  sendOAuthRequest,
  stepName,
} from "../requests/oauth-request.js";
import { requestTokens, resourceField, scopeField, type TokenOutcome } from "../tokens/token-request.js";
import type { AttemptResult, SignInAttempt } from "./attempt.js";
import { loopback } from "./loopback.js";

/** A device authorization response (RFC 8628, section 3.2). */
export interface DeviceAuthorization {
  readonly deviceCode: string;
  readonly userCode: string;
  readonly url: string;
  readonly completeUrl: string | undefined;
  /** In milliseconds since the epoch. */
  readonly expiresAt: number;
  readonly intervalMs: number;
}

const defaultIntervalMs = 5000;
const slowDownMs = 5000;
/** A token endpoint may be at another origin: a server must not make us flood it. */
const minIntervalMs = 1000;
const maxIntervalMs = 60_000;
const maxLifetimeMs = 1_800_000;

/** Lets a user sign in on any device, with a code. Rejects with SIGN_IN_FAILED, and as its steps do. */
export async function signInByDevice(attempt: SignInAttempt): Promise<AttemptResult> {
  const { context, server, scopes, rules, signal, isDryRun } = attempt;
  if (server.deviceEndpoint === undefined) {
    throw oauthFailure(context, "SIGN_IN_FAILED", {
      problem: "its authorization server does not support sign-in by device.",
      advice: "Sign in with a browser, and paste the address of its last page.",
    });
  }
  const form = new URLSearchParams({ ...resourceField(rules.resource), ...scopeField(scopes) });
  const client = await clientFor(attempt);
  const headers = await authenticateClient(context, server, client, form);
  const request = formRequest(server.deviceEndpoint, form, "a device code", headers);
  if (isDryRun) {
    context.log.step(() => requestStep(context.secrets, { name: stepName(request), request }));
    return undefined;
  }
  const response = await sendOAuthRequest(context, request, signal);
  const { error } = response.json ?? {};
  if (error === "invalid_client") {
    const failure = oauthFailure(context, "TOKEN_REFUSED", {
      problem: `its device endpoint does not know this client (${peerErrorOf(context, response).text}).`,
      advice: "Register the client with its operator, and set clientId in the oauth settings of the server.",
    });
    return { client, outcome: { kind: "refused", error, failure, isSpent: false } };
  }
  const authorization = processDeviceAuthorization(context, response);
  const { url, completeUrl, userCode, expiresAt } = authorization;
  for (const page of [url, completeUrl]) if (page !== undefined) await attempt.confirmOrigin(new URL(page));
  const way = { kind: "device", url, completeUrl, userCode, expiresAt } as const;
  const waited = await attempt.waitForUser(way, (over) => poll(attempt, client, authorization, over));
  return "held" in waited ? waited : { client, outcome: waited.reply };
}

/** A registration has a redirect URI even here, so that it works with a browser later. */
async function clientFor({ context, server, clients, isDryRun, signal }: SignInAttempt): Promise<OAuthClient> {
  const wanted = context.settings.redirect ?? {};
  const known = await clients.find(server);
  const redirect = known !== undefined || isDryRun ? undefined : await loopback.open(context, wanted);
  const { host = "127.0.0.1", port } = wanted;
  const redirectUri = redirect?.uri ?? `http://${host}${port === undefined ? "" : `:${port}`}/callback`;
  await redirect?.end();
  return chooseClient(context, { server, clients, known, redirectUri, isDryRun, signal });
}

/** Parses a device authorization response. Throws SIGN_IN_FAILED, or SERVER_FAILED if it is transient. */
function processDeviceAuthorization(context: OAuthContext, response: OAuthResponse): DeviceAuthorization {
  const { status, json } = response;
  const deviceCode = stringOf(json?.device_code);
  if (deviceCode !== undefined) context.secrets.add(deviceCode);
  const userCode = stringOf(json?.user_code);
  const verification = stringOf(json?.verification_uri) ?? stringOf(json?.verification_url);
  if (status !== 200 || json === undefined || deviceCode === undefined || userCode === undefined) {
    const { text, said } = peerErrorOf(context, response);
    const code = isTransientStatus(status) ? "SERVER_FAILED" : "SIGN_IN_FAILED";
    const problem = `its device endpoint issued no code (${text}).`;
    throw oauthFailure(context, code, { problem, advice: "Sign in with a browser instead." }, { details: { said } });
  }
  const url = parseEndpoint(verification, context);
  if (typeof url === "string") {
    throw oauthFailure(context, "AUTHORIZATION_SERVER_INVALID", {
      problem: `the verification page of its device code is invalid: ${url}.`,
      advice: "Sign in with a browser instead.",
    });
  }
  const complete = parseEndpoint(json.verification_uri_complete, context);
  const { expires_in: lifetime, interval } = json;
  const lifeMs = typeof lifetime === "number" && lifetime > 0 ? lifetime * 1000 : maxLifetimeMs;
  return {
    deviceCode,
    userCode: peerText(context, userCode, 50),
    url: url.href,
    completeUrl: typeof complete === "string" ? undefined : complete.href,
    expiresAt: context.clock.now() + Math.min(lifeMs, maxLifetimeMs),
    intervalMs:
      typeof interval === "number" && interval > 0
        ? Math.max(minIntervalMs, Math.min(interval * 1000, maxIntervalMs))
        : defaultIntervalMs,
  };
}

async function poll(
  { context, server, rules, key }: SignInAttempt,
  client: OAuthClient,
  authorization: DeviceAuthorization,
  signal: AbortSignal,
): Promise<TokenOutcome> {
  const { clock } = context;
  const { deviceCode: device_code } = authorization;
  const form = { grant_type: deviceGrant, device_code, ...resourceField(rules.resource) };
  let { intervalMs } = authorization;
  for (;;) {
    await sleep(clock, intervalMs, signal);
    if (clock.now() >= authorization.expiresAt) throw expired(context);
    try {
      const outcome = await requestTokens(context, { server, client, form, key, signal });
      if (outcome.kind === "tokens") return outcome;
      if (outcome.error === "slow_down") intervalMs = Math.min(intervalMs + slowDownMs, maxIntervalMs);
      else if (outcome.error === "expired_token") throw expired(context);
      else if (outcome.error === "access_denied") {
        const parts = { problem: "the sign-in was denied.", advice: "Sign in again and allow it." };
        throw oauthFailure(context, "SIGN_IN_FAILED", parts);
      } else if (outcome.error !== "authorization_pending") return outcome;
    } catch (error) {
      if (!isTransientFailure(error)) throw error;
      // RFC 8628 (section 3.5) asks for fewer attempts if the connection fails.
      intervalMs = Math.min(intervalMs * 2, maxIntervalMs);
    }
  }
}

function expired(context: OAuthContext): Error {
  const parts = { problem: "the code was not entered in time.", advice: "Sign in again." };
  return oauthFailure(context, "SIGN_IN_FAILED", parts);
}
