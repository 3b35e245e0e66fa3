import { type ArgumentMetadata, Injectable, type PipeTransform } from '@nestjs/common';
import { ZodValidationPipe } from 'nestjs-zod';
import { id } from './schemas/fields.js';

/** Validates everything that comes in: bodies and queries by their schemas, and what stands in a path as an id. */
@Injectable()
export class InputPipe implements PipeTransform {
  private readonly schemas: PipeTransform = new ZodValidationPipe();

  /** @throws ZodError or ZodValidationException */
  transform(value: unknown, metadata: ArgumentMetadata): unknown {
    return metadata.type === 'param' ? id.parse(value) : this.schemas.transform(value, metadata);
  }
}
