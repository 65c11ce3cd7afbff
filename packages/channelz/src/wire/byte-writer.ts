const initialCapacity = 16 * 1024;
/** A larger buffer is released after use: one huge response must not keep its memory forever. */
const keptCapacity = 256 * 1024;
/** Strings up to this length are written character by character, which is faster than a native call for short ASCII. */
const shortString = 48;
/** The maximum size of a varint in bytes. */
const maxVarint = 10;
const two32 = 2 ** 32;

/**
 * Writes protobuf's wire format into one reusable buffer.
 *
 * A nested message is opened and closed: its length is not known in advance, so space is reserved for it, and the content is moved
 * by a byte or two if the guess was wrong. Tags are passed as the encoded byte (field number << 3 | wire type), because no field
 * number that a registry writes is above 15.
 */
export class ByteWriter {
  #buffer: Buffer = Buffer.allocUnsafeSlow(initialCapacity);
  #capacity = initialCapacity;
  #at = 0;

  /** The number of bytes written, including headroom. */
  get length(): number {
    return this.#at;
  }

  /** Starts a new message, with `headroom` bytes left free in front. */
  begin(headroom: number): void {
    if (this.#capacity > keptCapacity) {
      this.#buffer = Buffer.allocUnsafeSlow(initialCapacity);
      this.#capacity = initialCapacity;
    }
    this.#at = headroom;
  }

  /** A copy of the bytes written since `begin`, including headroom. */
  finish(): Uint8Array {
    return Buffer.from(this.#buffer.subarray(0, this.#at));
  }

  /** Opens a message that is most likely shorter than 128 bytes. Pass the result to `closeSmall`. */
  openSmall(tag: number): number {
    this.#ensure(2 * maxVarint);
    this.#buffer[this.#at] = tag;
    this.#at += 2;
    return this.#at;
  }

  /** Opens a message that is most likely between 128 bytes and 16 KiB. Pass the result to `closeLarge`. */
  openLarge(tag: number): number {
    this.#ensure(2 * maxVarint);
    this.#buffer[this.#at] = tag;
    this.#at += 3;
    return this.#at;
  }

  /** Closes a message that `openSmall` opened. */
  closeSmall(start: number): void {
    const length = this.#at - start;
    if (length < 0x80) this.#buffer[start - 1] = length;
    else this.#closeMoved(start, 1, length);
  }

  /** Closes a message that `openLarge` opened. */
  closeLarge(start: number): void {
    const length = this.#at - start;
    if (length >= 0x80 && length < 0x4000) {
      this.#buffer[start - 2] = (length & 0x7f) | 0x80;
      this.#buffer[start - 1] = length >>> 7;
    } else {
      this.#closeMoved(start, 2, length);
    }
  }

  /** An integer field; omitted if it is 0, as in proto3. Negative numbers are sign-extended to 64 bits. */
  int(tag: number, value: number): void {
    if (value === 0) return;
    this.#ensure(2 * maxVarint);
    this.#buffer[this.#at++] = tag;
    if (value > 0) this.#varint(value);
    else this.#negativeVarint(value);
  }

  bool(tag: number, value: boolean): void {
    if (value) this.int(tag, 1);
  }

  /** A string field; omitted if it is empty. */
  string(tag: number, value: string): void {
    if (value.length !== 0) this.stringAlways(tag, value);
  }

  /** A string field in a oneof: written even if it is empty. */
  stringAlways(tag: number, value: string): void {
    const { length } = value;
    this.#ensure(2 * maxVarint + 3 * length);
    this.#buffer[this.#at++] = tag;
    if (length <= shortString && this.#shortAscii(value)) return;
    this.#varint(Buffer.byteLength(value));
    this.#at += this.#buffer.write(value, this.#at);
  }

  /** A bytes field; omitted if it is empty. */
  bytes(tag: number, value: Uint8Array): void {
    if (value.length === 0) return;
    this.#ensure(2 * maxVarint + value.length);
    this.#buffer[this.#at++] = tag;
    this.#varint(value.length);
    this.#buffer.set(value, this.#at);
    this.#at += value.length;
  }

  /** A Timestamp field; omitted if the time is 0, which means "never". */
  timestamp(tag: number, milliseconds: number): void {
    if (milliseconds === 0) return;
    const seconds = Math.floor(milliseconds / 1000);
    const start = this.openSmall(tag);
    this.int(0x08, seconds);
    this.int(0x10, Math.round((milliseconds - seconds * 1000) * 1e6));
    this.closeSmall(start);
  }

  #shortAscii(value: string): boolean {
    const buffer = this.#buffer;
    const { length } = value;
    let at = this.#at;
    buffer[at++] = length;
    for (let i = 0; i < length; i += 1) {
      const unit = value.charCodeAt(i);
      if (unit > 0x7f) return false;
      buffer[at++] = unit;
    }
    this.#at = at;
    return true;
  }

  #varint(value: number): void {
    const buffer = this.#buffer;
    let at = this.#at;
    let rest = value;
    while (rest >= two32) {
      buffer[at++] = (rest & 0x7f) | 0x80;
      rest = Math.floor(rest / 0x80);
    }
    let low = rest >>> 0;
    while (low > 0x7f) {
      buffer[at++] = (low & 0x7f) | 0x80;
      low >>>= 7;
    }
    buffer[at++] = low;
    this.#at = at;
  }

  #negativeVarint(value: number): void {
    let rest = BigInt.asUintN(64, BigInt(value));
    while (rest > 0x7fn) {
      this.#buffer[this.#at++] = Number(rest & 0x7fn) | 0x80;
      rest >>= 7n;
    }
    this.#buffer[this.#at++] = Number(rest);
  }

  #closeMoved(start: number, room: number, length: number): void {
    const needed = length < 0x80 ? 1 : length < 0x4000 ? 2 : length < 0x200000 ? 3 : length < 0x10000000 ? 4 : 5;
    const shift = needed - room;
    if (shift !== 0) {
      this.#ensure(maxVarint);
      this.#buffer.copyWithin(start + shift, start, this.#at);
    }
    this.#at = start - room;
    this.#varint(length);
    this.#at = start + shift + length;
  }

  #ensure(more: number): void {
    if (this.#at + more > this.#capacity) this.#grow(more);
  }

  #grow(more: number): void {
    this.#capacity = Math.max(this.#capacity * 2, this.#at + more);
    const grown = Buffer.allocUnsafeSlow(this.#capacity);
    this.#buffer.copy(grown, 0, 0, this.#at);
    this.#buffer = grown;
  }
}
