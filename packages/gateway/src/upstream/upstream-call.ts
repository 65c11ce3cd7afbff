import { Call, type JsonObject } from "@wirescope/tool-server/rpc";
import type { Caller } from "../clients/caller.js";

/** A call of a server that is under way. */
export class UpstreamCall extends Call {
  readonly caller: Caller;
  readonly server: string;

  constructor(caller: Caller, server: string, method: string) {
    super({ id: caller.id, method }, caller.era);
    this.caller = caller;
    this.server = server;
  }

  override onProgress(progress: JsonObject): void {
    this.activeAt = Date.now();
    const { progressToken } = this.caller;
    if (progressToken !== undefined) this.caller.notify("notifications/progress", { ...progress, progressToken });
  }
}
