import {
  type ApprovalStore,
  type AssertTrusted,
  approvals,
  createApprovalStore,
  defaultApprovalsPath,
  notTrusted,
  renderDistrust,
  type Trust,
  trustAll,
} from "@wirescope/tool-server";
import type { Io } from "../io.js";

export interface TrustPromptOptions {
  readonly file: string;
  readonly pluginRoot: string;
  readonly io: Io;
  /** Whether `--trust` was given. */
  readonly trustsAll: boolean;
}

/**
 * Checks that an entry is trusted: by an approval, a policy or `--trust`; else it asks the person at the terminal. Rejects with
 * NOT_TRUSTED, also if there is no terminal.
 */
export function createTrustPrompt({ file, pluginRoot, io, trustsAll }: TrustPromptOptions): AssertTrusted {
  const trust = trustFor(io, trustsAll);
  return async (entry, variables) => {
    // The entry may start a program next, from which this process must be protected.
    const runsHelper = entry.type !== "stdio" && entry.headersHelper !== undefined;
    if (entry.type === "stdio" || runsHelper || entry.secretCommands.length > 0) io.protect?.();
    const decision = await trust.evaluate({ entry, configurationPath: file, pluginRoot, variables });
    if (decision.state === "trusted") return;
    if (decision.state !== "denied") {
      io.stderr.write(`${renderDistrust(entry.name, decision).join("\n")}\n`);
      const reply = await io.ask?.("Approve this server? You are asked again only if it changes. [y/N] ");
      if (reply !== undefined && /^y(?:es)?$/i.test(reply.trim())) {
        await trust.approve(decision.subject);
        return;
      }
    }
    throw notTrusted(entry.name, decision);
  };
}

/** Trust by the user's approvals and the policy; with `--trust`, by the policy alone. */
export function trustFor(io: Pick<Io, "env">, trustsAll = false): Trust {
  return (trustsAll ? trustAll : approvals)({ environment: io.env, store: approvalsOf(io) });
}

export function approvalsOf({ env }: Pick<Io, "env">): ApprovalStore {
  return createApprovalStore({ path: defaultApprovalsPath(env, env.HOME || undefined) });
}
