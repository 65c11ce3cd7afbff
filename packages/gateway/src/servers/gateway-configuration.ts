import type {
  ApprovalSubject,
  DefinedTool,
  Redact,
  ToolChange,
  ToolServersOptions,
  TrustDecision,
} from "@wirescope/tool-server";
import type { Entry } from "@wirescope/tool-server/config";

/** The servers of one configuration, with the variables that its entries use. */
export interface GatewayConfiguration extends Omit<ToolServersOptions, "settings" | "isEager" | "secrets"> {
  /** The path of the configuration file, for messages. Default: none. */
  readonly configurationPath?: string | undefined;
  /** A sentence that says how to set a variable for this gateway. Default: restart the gateway with the variable. */
  readonly setVariable?: ((name: string) => string) | undefined;
  /** Shows and stores approvals through the gateway. Default: not possible. */
  readonly trust?: ConfigurationTrust | undefined;
}

/** Evaluates the trust of entries, and stores approvals. */
export interface ConfigurationTrust {
  /** As `evaluateTrust`. */
  evaluate(entry: Entry): Promise<TrustDecision>;
  /** Stores an approval. Resolves once it is durable. */
  approve(subject: ApprovalSubject): Promise<unknown>;
  /**
   * Compares the tools of an entry with the first definitions seen since its approval, as `ApprovalStore.compareTools`. Default: they are
   * not compared.
   */
  compareTools?(entry: Entry, tools: readonly DefinedTool[], redact: Redact): Promise<readonly ToolChange[]>;
  /** Accepts differences that it found. */
  acceptTools?(entry: Entry, changes: readonly ToolChange[]): Promise<void>;
}
