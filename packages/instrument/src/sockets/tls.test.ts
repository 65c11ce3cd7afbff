import { once } from "node:events";
import { connect } from "node:net";
import { connect as connectTls, type TLSSocket, type TlsOptions } from "node:tls";
import type { SocketSecurity } from "@wirescope/channelz";
import { describe, expect, test } from "vitest";
import {
  certificate,
  clientIdentity,
  closeAfterTest,
  connection,
  der,
  portOf,
  tlsConnection,
} from "./connections.test.helper.js";
import { isTls, tlsSecurity } from "./tls.js";

type Tls = Extract<SocketSecurity, { tls: unknown }>["tls"];

function tlsOf(socket: TLSSocket): Tls | undefined {
  const security = tlsSecurity(socket);
  return security !== undefined && "tls" in security ? security.tls : undefined;
}

describe.each(["TLSv1.2", "TLSv1.3"] as const)("%s", (version) => {
  const serving: TlsOptions = { minVersion: version, maxVersion: version };
  const mutual: TlsOptions = { ...serving, requestCert: true, ca: certificate("ca.pem") };

  test("[CZ-SEC-1] shows the cipher suite by its standard name on both ends", async () => {
    const { client, accepted } = await tlsConnection(serving);
    const expected = version === "TLSv1.3" ? /^TLS_(AES|CHACHA20)_\w+_SHA\d+$/ : /^TLS_ECDHE_ECDSA_WITH_\w+_SHA\d+$/;
    expect(tlsOf(client)?.standardName).toMatch(expected);
    expect(tlsOf(client)?.standardName).toBe(tlsOf(accepted)?.standardName);
    expect(tlsOf(client)).not.toHaveProperty("otherName");
  });

  test("[CZ-SEC-2] shows only the certificate of the server without a client certificate", async () => {
    const { client, accepted } = await tlsConnection(serving);
    expect(tlsOf(client)?.remoteCertificate).toEqual(der("server.pem"));
    expect(tlsOf(client)).not.toHaveProperty("localCertificate");
    expect(tlsOf(accepted)?.localCertificate).toEqual(der("server.pem"));
    expect(tlsOf(accepted)).not.toHaveProperty("remoteCertificate");
  });

  test("shows both certificates on both ends with a client certificate", async () => {
    const { client, accepted } = await tlsConnection(mutual, clientIdentity);
    const [ofServer, ofClient] = [der("server.pem"), der("client.pem")];
    expect(tlsOf(client)).toMatchObject({ localCertificate: ofClient, remoteCertificate: ofServer });
    expect(tlsOf(accepted)).toMatchObject({ localCertificate: ofServer, remoteCertificate: ofClient });
  });

  test("[CZ-SEC-2] does not show a client certificate that the server did not request", async () => {
    const { client, accepted } = await tlsConnection(serving, clientIdentity);
    expect(client.getCertificate()).toHaveProperty("raw");
    expect(tlsOf(client)).not.toHaveProperty("localCertificate");
    expect(tlsOf(accepted)).not.toHaveProperty("remoteCertificate");
  });

  test("shows no client certificate if the server requests one and the client has none", async () => {
    const { client, accepted } = await tlsConnection({ ...mutual, rejectUnauthorized: false });
    expect(tlsOf(client)).not.toHaveProperty("localCertificate");
    expect(tlsOf(accepted)).not.toHaveProperty("remoteCertificate");
  });

  test("shows untrusted certificates too", async () => {
    const { client, accepted } = await tlsConnection(
      { ...mutual, rejectUnauthorized: false },
      {
        cert: certificate("other-client.pem"),
        key: certificate("other-client-key.pem"),
        ca: certificate("other-ca.pem"),
        rejectUnauthorized: false,
      },
    );
    expect([client.authorized, accepted.authorized]).toEqual([false, false]);
    expect(tlsOf(client)?.remoteCertificate).toEqual(der("server.pem"));
    expect(tlsOf(accepted)?.remoteCertificate).toEqual(der("other-client.pem"));
  });

  test("shows the cipher and own certificate of a resumed session, and the peer's if Node still has it", async () => {
    const resumable: TlsOptions = { ...mutual, ticketKeys: Buffer.alloc(48, 7), sessionIdContext: "wirescope" };
    const first = await tlsConnection(resumable, clientIdentity);
    const session = await first.session;
    const { client, accepted } = await tlsConnection(resumable, { ...clientIdentity, session });
    expect(client.isSessionReused()).toBe(true);
    expect(tlsOf(client)?.standardName).toBe(tlsOf(first.client)?.standardName);
    expect(tlsOf(client)).not.toHaveProperty("remoteCertificate");
    expect(tlsOf(client)?.localCertificate).toEqual(der("client.pem"));
    expect(tlsOf(accepted)?.localCertificate).toEqual(der("server.pem"));
    expect(tlsOf(accepted)?.remoteCertificate).toEqual(der("client.pem"));
  });

  test("shows nothing of a session to be resumed before the handshake", async () => {
    const first = await tlsConnection({ ...serving, ticketKeys: Buffer.alloc(48, 7) });
    const session = await first.session;
    const client = connectTls({ port: portOf(first.server), ca: certificate("ca.pem"), session });
    closeAfterTest(client);
    expect(tlsSecurity(client)).toBeUndefined();
  });

  test("does not consume the certificates of the application", async () => {
    const { client, accepted } = await tlsConnection(mutual, clientIdentity);
    for (const socket of [client, accepted]) {
      tlsSecurity(socket);
      tlsSecurity(socket);
    }
    expect(client.getPeerCertificate(true).raw).toEqual(der("server.pem"));
    expect(client.getPeerX509Certificate()?.raw).toEqual(der("server.pem"));
    expect(accepted.getPeerX509Certificate()?.raw).toEqual(der("client.pem"));
  });
});

test("shows a certificate that arrives by renegotiation", async () => {
  const { client, accepted } = await tlsConnection(
    { maxVersion: "TLSv1.2", ca: certificate("ca.pem") },
    { ...clientIdentity, maxVersion: "TLSv1.2" },
  );
  expect(tlsOf(accepted)).not.toHaveProperty("remoteCertificate");
  // Requested by the server in the next handshake.
  (
    accepted as unknown as { _handle: { setVerifyMode(request: boolean, reject: boolean): void } }
  )._handle.setVerifyMode(true, false);
  await new Promise<void>((resolve, reject) => {
    client.renegotiate({ rejectUnauthorized: true }, (error) => (error === null ? resolve() : reject(error)));
  });
  expect(tlsOf(client)?.localCertificate).toEqual(der("client.pem"));
  expect(tlsOf(accepted)?.remoteCertificate).toEqual(der("client.pem"));
});

test("[CZ-SOCKET-3] shows nothing for a destroyed socket, and does not fail if the connection below is destroyed", async () => {
  const { server, client, accepted } = await tlsConnection();
  expect(tlsSecurity(accepted)).toBeDefined();
  accepted.destroy();
  expect(tlsSecurity(accepted)).toBeUndefined();
  client.destroy();
  expect(tlsSecurity(client)).toBeUndefined();

  const beneath = connect({ host: "127.0.0.1", port: portOf(server) });
  closeAfterTest(beneath);
  const above = connectTls({ socket: beneath, ca: certificate("ca.pem"), servername: "localhost" });
  closeAfterTest(above);
  await once(above, "secureConnect");
  beneath.destroy();
  expect(() => tlsSecurity(above)).not.toThrow();
  await once(above, "close");
  expect(tlsSecurity(above)).toBeUndefined();
});

test("shows nothing during a handshake or after a failed one", async () => {
  const { server } = await tlsConnection();
  const client = connectTls({ host: "127.0.0.1", port: portOf(server), ca: certificate("other-ca.pem") });
  closeAfterTest(client);
  expect(tlsSecurity(client)).toBeUndefined();
  await once(client, "error");
  expect(tlsSecurity(client)).toBeUndefined();
});

test("distinguishes a plain connection from a TLS connection", async () => {
  const plain = await connection();
  const secure = await tlsConnection();
  expect([isTls(plain.client), isTls(plain.accepted)]).toEqual([false, false]);
  expect([isTls(secure.client), isTls(secure.accepted)]).toEqual([true, true]);
});
