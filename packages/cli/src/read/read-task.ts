import type { ChannelzConnection } from "@wirescope/channelz";
import type { Screen } from "../output/screen.js";

/** What a command that reads a peer works with. */
export interface ReadTask<V = JsonValue> {
  readonly source: ChannelzConnection;
  readonly screen: Screen;
  /** The values of its options. */
  readonly values: V;
  readonly positionals: readonly string[];
  /** Aborts when the user interrupts the command: what was read until then is printed. */
  readonly signal: AbortSignal;
}

interface JsonValue {
  readonly json: boolean;
}

/** The values of a command that lists objects. */
export interface ListValues extends JsonValue {
  readonly limit: string | undefined;
}
