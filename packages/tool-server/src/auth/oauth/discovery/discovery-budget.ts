import { ToolServerError } from "../../../errors.js";
import type { JsonObject } from "../../../json-object.js";
import { parseUrl } from "../../../url.js";
import type { OAuthContext } from "../oauth-context.js";
import { isPassingFailure, oauthFailure, urlText } from "../oauth-errors.js";
import { endpointDefect } from "../requests/endpoint-rules.js";
import { isPassingStatus, type OAuthAnswer, sendOAuthRequest } from "../requests/oauth-request.js";

/** What a look at one place of a discovery found. */
export type Look =
  | { readonly kind: "found"; readonly json: JsonObject }
  /** There is nothing of the kind, for this reason. */
  | { readonly kind: "absent"; readonly reason: string }
  /** It may be there: the network or the server is in trouble. */
  | { readonly kind: "failed"; readonly error: ToolServerError };

/** The looks of one discovery, which together have a limit of time and of number. */
export interface DiscoveryBudget {
  /** Looks for a JSON object at a url. Rejects where the budget is spent, or the caller gave up. */
  look(url: URL): Promise<Look>;
  /** Ends its timer. */
  close(): void;
}

const mostRedirects = 2;

export function createDiscoveryBudget(context: OAuthContext, signal?: AbortSignal): DiscoveryBudget {
  const { clock, limits } = context;
  const limit = new AbortController();
  const spent = (what: string): ToolServerError =>
    oauthFailure(context, "AUTHORIZATION_SERVER_INVALID", {
      problem: `its authorization server was not found within ${what}.`,
      advice: "Pin the issuer in the configuration, or ask the operator of the server.",
    });
  const callOff = clock.after(limits.discoveryMs, () => limit.abort(spent(`${limits.discoveryMs / 1000} s`)));
  const both = signal === undefined ? limit.signal : AbortSignal.any([limit.signal, signal]);
  let requests = 0;

  const get = (url: URL): Promise<OAuthAnswer> => {
    requests += 1;
    if (requests > limits.discoveryRequests) throw spent(`${limits.discoveryRequests} requests`);
    return sendOAuthRequest(
      context,
      { method: "GET", url, headers: { accept: "application/json" }, asked: "metadata" },
      both,
    );
  };

  const look = async (url: URL, redirects = 0): Promise<Look> => {
    const defect = endpointDefect(url, context);
    if (defect !== undefined) return { kind: "absent", reason: defect };
    const { status, headers, json } = await get(url);
    if (status >= 300 && status < 400) {
      const target = parseUrl(headers.location ?? "", url);
      if (target?.origin !== url.origin) return { kind: "absent", reason: `status ${status}, which leads elsewhere` };
      if (redirects === mostRedirects) return { kind: "absent", reason: `more than ${mostRedirects} redirects` };
      return look(target, redirects + 1);
    }
    if (isPassingStatus(status)) {
      const problem = `${urlText(context, url)} responded with ${status} to the request for metadata.`;
      const parts = { problem, advice: "Try again later." };
      return { kind: "failed", error: oauthFailure(context, "SERVER_FAILED", parts, { details: { status } }) };
    }
    if (status !== 200) return { kind: "absent", reason: `status ${status}` };
    // A server that shows its page at every path answers 200 here too.
    if (json === undefined) return { kind: "absent", reason: "status 200, but no JSON object" };
    return { kind: "found", json };
  };

  return {
    async look(url) {
      try {
        return await look(url);
      } catch (error) {
        both.throwIfAborted();
        if (isPassingFailure(error)) return { kind: "failed", error };
        if (requests <= limits.discoveryRequests && ToolServerError.is(error, "AUTHORIZATION_SERVER_INVALID")) {
          return { kind: "absent", reason: error.message };
        }
        throw error;
      }
    },
    close: callOff,
  };
}
