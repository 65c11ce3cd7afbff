import type { ChannelzConnection } from "@wirescope/channelz";
import type { Screen } from "../output/screen.js";

/** What a command that reads a peer works with. */
export interface ReadTask<V = JsonValue> {
  readonly source: ChannelzConnection;
  readonly screen: Screen;
  /** The values of its options. */
  readonly values: V;
  readonly positionals: readonly string[];
}

interface JsonValue {
  readonly json: boolean;
}
