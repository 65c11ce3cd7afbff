import type { SandboxSettings } from "@wirescope/tool-server";
import type { Vault } from "@wirescope/tool-server/auth";

/** Notices that programs without a sandbox can read the stored tokens. */
export interface VaultExposure {
  readonly onUnsandboxed: NonNullable<SandboxSettings["onUnsandboxed"]>;
  /** What the user should know; empty if the key is not in a file, or all programs run in the sandbox. */
  notes(): readonly string[];
}

/** `vault` is the one that is used, once it is open. */
export function createVaultExposure(vault: () => Vault | undefined): VaultExposure {
  let exposed: string | undefined;
  return {
    onUnsandboxed(reason, program) {
      const subject = program === "server" ? "A stdio server" : "A headers helper or secret command";
      exposed ??= `${subject} ran without the sandbox, so it could read the stored tokens and their key. ${reason}`;
    },
    notes() {
      const keyPath = vault()?.describe().keyPath;
      if (exposed === undefined || keyPath === undefined) return [];
      const advice = "let it run in the sandbox, or pass the key in a descriptor (WIRESCOPE_VAULT_KEY_FD).";
      return [`${exposed} The key is in ${keyPath}: ${advice}`];
    },
  };
}
