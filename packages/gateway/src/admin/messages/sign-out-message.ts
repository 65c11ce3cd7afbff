import { create, type MessageInitShape } from "@bufbuild/protobuf";
import type { RevocationResult, SignOutReport } from "@wirescope/tool-server";
import {
  Revocation_Outcome,
  type RevocationSchema,
  SignOutProof_Outcome,
  type SignOutResponse,
  SignOutResponseSchema,
} from "../../gen/wirescope/v1/admin_pb.js";
import { timeOf } from "./server-message.js";

const revocations = {
  revoked: Revocation_Outcome.REVOKED,
  unsupported: Revocation_Outcome.UNSUPPORTED,
  failed: Revocation_Outcome.FAILED,
} as const;

const proofs = {
  refused: SignOutProof_Outcome.REFUSED,
  accepted: SignOutProof_Outcome.ACCEPTED,
  unclear: SignOutProof_Outcome.UNCLEAR,
  nothing: SignOutProof_Outcome.NOTHING,
} as const;

/** What a sign-out did, as a message. */
export function signOutToMessage({ wiped, proof, problems }: SignOutReport): SignOutResponse {
  return create(SignOutResponseSchema, {
    wiped: wiped.map(({ issuer, accessToken, refreshToken }) => ({
      issuer,
      accessToken: revocationInit(accessToken),
      ...(refreshToken && { refreshToken: revocationInit(refreshToken) }),
    })),
    proof: {
      outcome: proofs[proof.kind],
      status: "status" in proof ? proof.status : 0,
      reason: "reason" in proof ? proof.reason : "",
      ...timeOf("expireTime", "until" in proof ? proof.until : undefined),
    },
    problems: [...problems],
  });
}

function revocationInit(result: RevocationResult): MessageInitShape<typeof RevocationSchema> {
  return { outcome: revocations[result.kind], reason: "reason" in result ? result.reason : "" };
}
