import { RpcError, rpcCodes } from "@wirescope/tool-server/internal";

/** How many questions of a server may be open at once in one call. */
export const maxQuestions = 32;

/** That a server asks too much at once. */
export function tooManyQuestions(): RpcError {
  const message = `The limit of ${maxQuestions} open questions in this call is reached. Wait for responses.`;
  return new RpcError(rpcCodes.failed, message);
}
