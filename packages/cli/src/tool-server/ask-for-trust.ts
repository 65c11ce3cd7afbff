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

export interface TrustAskerOptions {
  /** The configuration. */
  readonly file: string;
  readonly pluginRoot: string;
  readonly io: Io;
  /** Whether `--trust` was given. */
  readonly isFlagged: boolean;
}

/**
 * Makes sure that an entry may act: by an approval, a policy or `--trust`; else it asks the person at the terminal, once for each.
 * Rejects with NOT_TRUSTED, also if there is no terminal.
 */
export function createTrustAsker({ file, pluginRoot, io, isFlagged }: TrustAskerOptions): AssertTrusted {
  const trust = trustFor(io, isFlagged);
  return async (entry, variables) => {
    // What is asked about here may start a program next, and it must not find us open.
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

/** The approvals of the user and the policy; with `--trust`, the policy alone. */
export function trustFor(io: Pick<Io, "env">, isFlagged = false): Trust {
  return (isFlagged ? trustAll : approvals)({ environment: io.env, store: approvalsOf(io) });
}

/** The approvals of the user. */
export function approvalsOf({ env }: Pick<Io, "env">): ApprovalStore {
  return createApprovalStore({ path: defaultApprovalsPath(env, env.HOME || undefined) });
}
