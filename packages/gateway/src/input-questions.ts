import { type Cancellation, isObject, RpcError, type RpcObject, rpcCodes } from "@wirescope/tool-server/internal";

interface Asked {
  readonly method: string;
  readonly params: RpcObject | undefined;
  resolve(response: RpcObject): void;
  reject(error: RpcError): void;
}

/** Questions of a legacy server that a modern client receives in a result, and responds to in a later request. */
export class InputQuestions {
  readonly #prefix: string;
  readonly #asked = new Map<string, Asked>();
  #lastKey = 0;

  /** The prefix makes the keys unique among several sets of questions. */
  constructor(prefix = "ask-") {
    this.#prefix = prefix;
  }

  /** Adds a question. Rejects with an RpcError if there are too many, or the call or the signal is cancelled. */
  ask(
    method: string,
    params: RpcObject | undefined,
    call: Cancellation,
    signal: AbortSignal | undefined,
  ): Promise<RpcObject> {
    if (this.#asked.size >= maxQuestions) return Promise.reject(tooManyQuestions());
    this.#lastKey += 1;
    const key = `${this.#prefix}${this.#lastKey}`;
    return new Promise((resolve, reject) => {
      const settle = (): void => {
        this.#asked.delete(key);
        call.removeEventListener("abort", giveUp);
        signal?.removeEventListener("abort", giveUp);
      };
      const giveUp = (): void => {
        settle();
        reject(new RpcError(rpcCodes.failed, "The question was cancelled."));
      };
      if (call.aborted || signal?.aborted) {
        giveUp();
        return;
      }
      call.addEventListener("abort", giveUp);
      signal?.addEventListener("abort", giveUp, { once: true });
      this.#asked.set(key, {
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
   * Resolves questions with the responses of the client, by key. Other keys are ignored. A response that is only an error is what
   * a legacy client would send: the protocol has no other way to decline a sampling request.
   */
  respond(responses: unknown): void {
    if (!isObject(responses)) return;
    for (const [key, response] of Object.entries(responses)) {
      if (!isObject(response)) continue;
      const declined = declinedBy(response);
      const asked = this.#asked.get(key);
      if (declined === undefined) asked?.resolve(response);
      else asked?.reject(declined);
    }
  }

  /** The open questions by key; undefined if there are none. */
  list(): RpcObject | undefined {
    if (this.#asked.size === 0) return undefined;
    const questions = [...this.#asked].map(([key, { method, params }]) => [
      key,
      params === undefined ? { method } : { method, params },
    ]);
    return Object.fromEntries(questions);
  }
}

function declinedBy({ error, ...rest }: RpcObject): RpcError | undefined {
  if (!isObject(error) || typeof error.message !== "string" || Object.keys(rest).length > 0) return undefined;
  return new RpcError(typeof error.code === "number" ? error.code : rpcCodes.failed, error.message);
}

/** A question of a legacy server in modern form: without its own `_meta`, and without elicitation ids. */
function asModern({ _meta, elicitationId, task, ...params }: RpcObject): RpcObject {
  return params;
}

/** How many questions of a server may be open at once in one call. */
export const maxQuestions = 32;

/** The error for a server that asks too many questions at once. */
export function tooManyQuestions(): RpcError {
  const message = `This call has reached its limit of ${maxQuestions} open questions. Wait for responses.`;
  return new RpcError(rpcCodes.failed, message);
}
