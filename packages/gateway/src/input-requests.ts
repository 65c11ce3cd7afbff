import { type Cancellation, isObject, RpcError, type RpcObject, rpcCodes } from "@wirescope/tool-server/internal";

interface Pending {
  readonly method: string;
  readonly params: RpcObject | undefined;
  resolve(response: RpcObject): void;
  reject(error: RpcError): void;
}

/** Requests from a legacy server that a modern client receives in a result, and responds to in a later request. */
export class InputRequests {
  readonly #prefix: string;
  readonly #pending = new Map<string, Pending>();
  #lastKey = 0;

  /** The prefix makes the keys unique among several sets of requests. */
  constructor(prefix = "ask-") {
    this.#prefix = prefix;
  }

  /** Adds a request; resolves with its response. Rejects with an RpcError if too many are open, or the call or the signal is cancelled. */
  add(
    method: string,
    params: RpcObject | undefined,
    call: Cancellation,
    signal: AbortSignal | undefined,
  ): Promise<RpcObject> {
    if (this.#pending.size >= maxOpenRequests) return Promise.reject(tooManyOpenRequests());
    this.#lastKey += 1;
    const key = `${this.#prefix}${this.#lastKey}`;
    return new Promise((resolve, reject) => {
      const settle = (): void => {
        this.#pending.delete(key);
        call.removeEventListener("abort", giveUp);
        signal?.removeEventListener("abort", giveUp);
      };
      const giveUp = (): void => {
        settle();
        reject(new RpcError(rpcCodes.failed, "The request was cancelled."));
      };
      if (call.aborted || signal?.aborted) {
        giveUp();
        return;
      }
      call.addEventListener("abort", giveUp);
      signal?.addEventListener("abort", giveUp, { once: true });
      this.#pending.set(key, {
        method,
        params: params === undefined ? undefined : asModern(params),
        resolve(response) {
          settle();
          resolve(response);
        },
        reject(error) {
          settle();
          reject(error);
        },
      });
    });
  }

  /**
   * Resolves requests with the client's responses, by key. Other keys are ignored. A response that is only an error rejects, as the
   * error of a legacy client does: the protocol has no other way to decline a sampling request.
   */
  respond(responses: unknown): void {
    if (!isObject(responses)) return;
    for (const [key, response] of Object.entries(responses)) {
      if (!isObject(response)) continue;
      const declined = declinedBy(response);
      const pending = this.#pending.get(key);
      if (declined === undefined) pending?.resolve(response);
      else pending?.reject(declined);
    }
  }

  /** The open requests by key; undefined if there are none. */
  list(): RpcObject | undefined {
    if (this.#pending.size === 0) return undefined;
    const requests = [...this.#pending].map(([key, { method, params }]) => [
      key,
      params === undefined ? { method } : { method, params },
    ]);
    return Object.fromEntries(requests);
  }
}

function declinedBy({ error, ...rest }: RpcObject): RpcError | undefined {
  if (!isObject(error) || typeof error.message !== "string" || Object.keys(rest).length > 0) return undefined;
  return new RpcError(typeof error.code === "number" ? error.code : rpcCodes.failed, error.message);
}

/** The parameters of a legacy request in modern form: without `_meta`, `task` and elicitation ids. */
function asModern({ _meta, elicitationId, task, ...params }: RpcObject): RpcObject {
  return params;
}

/** How many server requests may be open at once in one call. */
export const maxOpenRequests = 32;

/** The error for a server that sends too many requests at once. */
export function tooManyOpenRequests(): RpcError {
  const message = `This call has reached its limit of ${maxOpenRequests} open requests to the client. Wait for responses.`;
  return new RpcError(rpcCodes.failed, message);
}
