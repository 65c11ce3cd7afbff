import { type SocketOptionInit, tcpInfoOption } from "@wirescope/channelz/registry";

/** The size of Linux's `struct tcp_info` up to and including `tcpi_reordering`; later kernels only append fields. */
export const tcpInfoSize = 92;

/** Decodes `struct tcp_info`; the fields are in the order of the struct. */
export function parseTcpInfo(info: Buffer): SocketOptionInit {
  const wordAt = (index: number): number => info.readUInt32LE(8 + 4 * index);
  // The two window scales are bit fields of one byte.
  const scales = info.readUInt8(6);
  return tcpInfoOption({
    tcpiState: info.readUInt8(0),
    tcpiCaState: info.readUInt8(1),
    tcpiRetransmits: info.readUInt8(2),
    tcpiProbes: info.readUInt8(3),
    tcpiBackoff: info.readUInt8(4),
    tcpiOptions: info.readUInt8(5),
    tcpiSndWscale: scales & 0x0f,
    tcpiRcvWscale: scales >>> 4,
    tcpiRto: wordAt(0),
    tcpiAto: wordAt(1),
    tcpiSndMss: wordAt(2),
    tcpiRcvMss: wordAt(3),
    tcpiUnacked: wordAt(4),
    tcpiSacked: wordAt(5),
    tcpiLost: wordAt(6),
    tcpiRetrans: wordAt(7),
    tcpiFackets: wordAt(8),
    tcpiLastDataSent: wordAt(9),
    tcpiLastAckSent: wordAt(10),
    tcpiLastDataRecv: wordAt(11),
    tcpiLastAckRecv: wordAt(12),
    tcpiPmtu: wordAt(13),
    tcpiRcvSsthresh: wordAt(14),
    tcpiRtt: wordAt(15),
    tcpiRttvar: wordAt(16),
    tcpiSndSsthresh: wordAt(17),
    tcpiSndCwnd: wordAt(18),
    tcpiAdvmss: wordAt(19),
    tcpiReordering: wordAt(20),
  });
}
