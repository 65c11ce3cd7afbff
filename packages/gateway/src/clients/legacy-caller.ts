import {
  isId,
  type JsonObject,
  type LogLevel,
  metaOf,
  type RequestId,
  type RpcRequest,
} from "@wirescope/tool-server/rpc";
import { type CallOff, createCallOff } from "./call-off.js";
import type { Caller, CallStory, ClientAccount } from "./caller.js";
import type { Outlet } from "./outlet.js";
import { mostQuestions, tooManyQuestions } from "./question-limits.js";
import type { Session } from "./session.js";

/** The session of a caller, with what is for its callers alone. */
export interface CallerSession {
  readonly session: Session;
  readonly capabilities: JsonObject;
  /** The outlet of the request, or the one for everything else where that is gone. */
  reach(outlet: Outlet): Outlet | undefined;
  /** Asks the client. Rejects as `Caller.ask` does. */
  ask(
    caller: LegacyCaller,
    method: string,
    params: JsonObject | undefined,
    signal: AbortSignal | undefined,
  ): Promise<JsonObject>;
}

/**
 * Who made a request of the older era. A class, for one is made for every request; and one for all sessions, for whatever has to
 * do with callers takes twice as long where those of each session are of their own kind.
 */
export class LegacyCaller implements Caller {
  readonly era = "legacy";
  readonly id: RequestId;
  readonly progressToken: RequestId | undefined;
  readonly headers: Caller["headers"];
  readonly callOff: CallOff = createCallOff();
  readonly story: CallStory = {};
  readonly outlet: Outlet;
  readonly #of: CallerSession;
  #asked = 0;

  constructor(of: CallerSession, { id, params }: RpcRequest, outlet: Outlet, headers: Caller["headers"]) {
    const token = metaOf(params)?.progressToken;
    this.#of = of;
    this.id = id;
    this.progressToken = isId(token) ? token : undefined;
    this.headers = headers;
    this.outlet = outlet;
  }

  get session(): Session {
    return this.#of.session;
  }

  get account(): ClientAccount {
    return this.#of.session.account;
  }

  get capabilities(): JsonObject {
    return this.#of.capabilities;
  }

  get logLevel(): LogLevel | undefined {
    return this.#of.session.logLevel;
  }

  notify(method: string, params: JsonObject): void {
    this.#of.reach(this.outlet)?.send({ jsonrpc: "2.0", method, params });
  }

  ask(method: string, params: JsonObject | undefined, signal?: AbortSignal): Promise<JsonObject> {
    if (this.#asked >= mostQuestions) return Promise.reject(tooManyQuestions());
    this.#asked += 1;
    return this.#of.ask(this, method, params, signal).finally(() => {
      this.#asked -= 1;
    });
  }
}
