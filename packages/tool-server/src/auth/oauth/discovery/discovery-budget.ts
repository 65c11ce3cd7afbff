import { ToolServerError } from "../../../errors.js";
import type { JsonObject } from "../../../json-object.js";
import { parseUrl } from "../../../url.js";
import type { OAuthContext } from "../oauth-context.js";
import { isTransientFailure, oauthFailure, urlText } from "../oauth-errors.js";
import { endpointDefect } from "../requests/endpoint-rules.js";
import { isTransientStatus, type OAuthResponse, sendOAuthRequest } from "../requests/oauth-request.js";

/** The result of requesting one url of a discovery. */
export type FetchResult =
  | { readonly kind: "found"; readonly json: JsonObject }
  /** The metadata does not exist, for this reason. */
  | { readonly kind: "absent"; readonly reason: string }
  /** The metadata may exist, but the network or the server failed. */
  | { readonly kind: "failed"; readonly error: ToolServerError };

/** Why a url has no metadata. */
export function reasonOf(result: Exclude<FetchResult, { readonly kind: "found" }>): string {
  return result.kind === "failed" ? result.error.message : result.reason;
}

/** The requests of one discovery, with a limit of time and number. */
export interface DiscoveryBudget {
  /** Requests a JSON object; `requested` names it in messages. Rejects if the budget is exhausted, or the caller gave up. */
  fetchJson(url: URL, requested: string): Promise<FetchResult>;
  /** Stops its timer. */
  close(): void;
}

const maxRedirects = 2;

export function createDiscoveryBudget(context: OAuthContext, signal?: AbortSignal): DiscoveryBudget {
  const { clock, limits } = context;
  const limit = new AbortController();
  const spent = (what: string): ToolServerError =>
    oauthFailure(context, "AUTHORIZATION_SERVER_INVALID", {
      problem: `its authorization server was not found within ${what}.`,
      advice: "Set the issuer in the configuration, or ask the operator of the server.",
    });
  const cancelTimer = clock.after(limits.discoveryMs, () => limit.abort(spent(`${limits.discoveryMs / 1000} s`)));
  const both = signal === undefined ? limit.signal : AbortSignal.any([limit.signal, signal]);
  let requests = 0;

  const get = (url: URL, requested: string): Promise<OAuthResponse> => {
    requests += 1;
    if (requests > limits.discoveryRequests) throw spent(`${limits.discoveryRequests} requests`);
    const headers = { accept: "application/json" };
    return sendOAuthRequest(context, { method: "GET", url, headers, requested, isSearch: true }, both);
  };

  const fetchJson = async (url: URL, requested: string, redirects = 0): Promise<FetchResult> => {
    const defect = endpointDefect(url, context);
    if (defect !== undefined) return { kind: "absent", reason: defect };
    const { status, headers, json } = await get(url, requested);
    if (status >= 300 && status < 400) {
      const target = parseUrl(headers.location ?? "", url);
      if (target?.origin !== url.origin)
        return { kind: "absent", reason: `status ${status}, a redirect to another origin` };
      if (redirects === maxRedirects) return { kind: "absent", reason: `more than ${maxRedirects} redirects` };
      return fetchJson(target, requested, redirects + 1);
    }
    if (isTransientStatus(status)) {
      const problem = `the metadata request to ${urlText(context, url)} failed with status ${status}.`;
      const parts = { problem, advice: "Try again later." };
      return { kind: "failed", error: oauthFailure(context, "SERVER_FAILED", parts, { details: { status } }) };
    }
    if (status !== 200) return { kind: "absent", reason: `status ${status}` };
    // Some servers respond with status 200 and a page at every path.
    if (json === undefined) return { kind: "absent", reason: "status 200, but not a JSON object" };
    return { kind: "found", json };
  };

  return {
    async fetchJson(url, requested) {
      try {
        return await fetchJson(url, requested);
      } catch (error) {
        both.throwIfAborted();
        if (isTransientFailure(error)) return { kind: "failed", error };
        if (requests <= limits.discoveryRequests && ToolServerError.is(error, "AUTHORIZATION_SERVER_INVALID")) {
          return { kind: "absent", reason: error.message };
        }
        throw error;
      }
    },
    close: cancelTimer,
  };
}
