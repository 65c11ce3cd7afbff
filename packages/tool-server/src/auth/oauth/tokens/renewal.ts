import { backOffMs } from "../../../back-off.js";
import type { ToolServerError } from "../../../errors.js";
import type { OAuthContext } from "../oauth-context.js";
import { tellEvent } from "../oauth-event.js";
import { isPassingFailure } from "../oauth-failure.js";
import type { TokenRecord } from "./token-record.js";

/** What a try to renew tokens ended with. */
export type Renewal =
  | { readonly kind: "tokens"; readonly record: TokenRecord }
  /** The refresh token will never be accepted again. */
  | { readonly kind: "dead"; readonly failure: ToolServerError }
  /** It was not accepted, for a reason that may or may not stay. */
  | { readonly kind: "refused"; readonly failure: ToolServerError };

export interface RenewalOptions extends Pick<OAuthContext, "secrets" | "clock" | "onEvent"> {
  readonly renew: (record: TokenRecord) => Promise<Renewal>;
}

const tries = 3;
const firstPauseMs = 500;
const longestPauseMs = 4000;

/**
 * Renews tokens, and tries again a few times where that failed for a reason that may pass, or was refused without a clear word.
 * Rejects with the last failure where it may still pass.
 */
export async function renewPatiently(options: RenewalOptions, record: TokenRecord): Promise<Renewal> {
  const { clock, renew } = options;
  tellEvent(options, "refresh-started", "The token is renewed.");
  for (let tried = 1; ; tried += 1) {
    let failure: ToolServerError;
    try {
      const renewal = await renew(record);
      if (renewal.kind === "tokens") {
        const until =
          renewal.record.expiresAt === undefined ? "" : ` It is good until ${timeText(renewal.record.expiresAt)}.`;
        tellEvent(options, "refreshed", `The token was renewed.${until}`);
        return renewal;
      }
      failure = renewal.failure;
      if (renewal.kind === "dead" || tried === tries) {
        tellEvent(options, "tokens-dropped", `The token cannot be renewed: ${failure.message}`, "warning");
        return renewal;
      }
    } catch (error) {
      if (!isPassingFailure(error)) throw error;
      failure = error;
      if (tried === tries) {
        tellEvent(options, "refresh-failed", failure.message, "warning");
        throw failure;
      }
    }
    const pauseMs = backOffMs(tried, firstPauseMs, longestPauseMs);
    tellEvent(options, "refresh-failed", `${failure.message} It is tried again in ${pauseMs / 1000} s.`, "warning");
    await new Promise<void>((resolve) => clock.after(pauseMs, resolve));
  }
}

function timeText(ms: number): string {
  return new Date(ms).toISOString();
}
